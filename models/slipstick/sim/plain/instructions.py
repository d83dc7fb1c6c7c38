"""The meaning of each instruction of a plan.

One function for each instruction. It is called once, when a run is prepared, and gives the action that a token performs
each time it executes the instruction: change the state of the run, and say whether the token goes on at once (True) or
waits (False). `INSTRUCTIONS` at the end is the table of all; `slipstick.sim.plan.plan.Op` lists the operands.

A spin lock is written in several instructions (see `slipstick.sim.plan.builder`): each test or test-and-set is a visit to
the station that holds the lock word, then TRY, AWAIT_FREE or AWAIT_TURN looks at the state of the lock itself. The numbers
of requests and of releases, which are counted anyway, are the tickets that a ticket lock hands out and calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappush

from slipstick.sim.plain.event_loop import Action, Token
from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plan.plan import Op, Where


def delay(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """DELAY: let time pass."""
    times, label, then = runtime.draws[operands[0]], operands[1], pc + 1
    heap, order, resume = runtime.heap, runtime.order, runtime.resume

    def run(token: Token, now: float) -> bool:
        token.pc = then
        token.label = label
        heappush(heap, (now + next(times), order(), resume, token))
        return False

    return run


def serve(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SERVE: visit a station."""
    first, draw, label, wait, where, rank, place = operands[:7]
    times, stations, then = runtime.draws[draw], runtime.stations, pc + 1
    if place:
        return serve_at_random(runtime, pc, operands)
    if where == Where.FIXED:
        start_response = stations[first].enter

        def fixed(token: Token, now: float) -> bool:
            token.pc = then
            token.label = label
            token.wait = wait
            token.rank = rank
            start_response(token, next(times), now)
            return False

        return fixed

    def run(token: Token, now: float) -> bool:
        token.pc, token.label, token.wait, token.rank = then, label, wait, rank
        whose = token.customer if where == Where.OWN else token.aim
        stations[first + whose].enter(token, next(times), now)
        return False

    return run


def serve_at_random(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SERVE at a station with random order: also draw the place in its queue."""
    first, draw, label, wait, where, rank, place = operands[:7]
    times, places, stations = runtime.draws[draw], runtime.draws[place - 1], runtime.stations

    def run(token: Token, now: float) -> bool:
        token.pc, token.label, token.wait, token.rank = pc + 1, label, wait, rank
        whose = token.customer if where == Where.OWN else token.aim if where == Where.AIMED else 0
        token.place = next(places)
        stations[first + whose].enter(token, next(times), now)
        return False

    return run


def aim_at_random(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """AIM_AT_RANDOM: choose one of the other customers at random, for a visit to its station."""
    draws, first, customers = runtime.draws[operands[0]], operands[1], operands[2]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.aim = first + (token.customer - first + 1 + int(next(draws) * (customers - 1))) % customers
        return True

    return run


def aim_in_turn(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """AIM_IN_TURN: choose the j-th of the other customers, j the number of the branch or item."""
    first, customers = operands[:2]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.aim = first + (token.customer - first + 1 + token.index % (customers - 1)) % customers
        return True

    return run


def choose(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """CHOOSE: jump to one of several instructions; to the last where rounding leaves a gap in the probabilities."""
    draws, first, count = runtime.draws[operands[0]], operands[1], operands[2]
    odds, targets = runtime.plan.odds, runtime.plan.targets

    def run(token: Token, now: float) -> bool:
        chance = next(draws)
        option = first
        while option < first + count - 1 and chance >= odds[option]:
            option += 1
        token.pc = targets[option]
        return True

    return run


def jump(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """JUMP: continue at another instruction."""

    def run(token: Token, now: float) -> bool:
        token.pc = operands[0]
        return True

    return run


def set_count(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SET_COUNT: set the number of rounds of a loop; a fraction is the probability of one more."""
    register, count, draws = operands[0], runtime.plan.counts[operands[1]], runtime.draws[operands[2]]
    whole = int(count)

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.registers[register] = whole + (next(draws) < count - whole)
        return True

    return run


def loop(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """LOOP: start another round, or continue behind the loop."""
    register, after = operands[:2]

    def run(token: Token, now: float) -> bool:
        if token.registers[register] <= 0:
            token.pc = after
        else:
            token.registers[register] -= 1
            token.pc = pc + 1
        return True

    return run


def switch(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SWITCH: jump to the instruction of this branch or item."""
    targets = runtime.plan.targets

    def run(token: Token, now: float) -> bool:
        token.pc = targets[operands[0] + token.index]
        return True

    return run


def admit(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ADMIT: count an arrival, and turn it away where the station is full."""
    gate, station, most, elsewhere = operands[:4]
    tried, refused, stations = runtime.tried, runtime.refused, runtime.stations

    def run(token: Token, now: float) -> bool:
        tried[gate] += 1
        token.pc = pc + 1
        if most and stations[station].present >= most:
            refused[gate] += 1
            token.pc = elsewhere
        return True

    return run


def start_response(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """START_RESPONSE: the response time begins here."""

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.begun = now
        return True

    return run


def end(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """END: record the cycle; a closed customer begins another, an open one leaves, a program's is finished."""
    plan, onward, lost = runtime.plan, operands[0], operands[1]

    def book(token: Token, now: float) -> None:
        group = token.group
        if not lost:
            time = now - token.begun
            runtime.responses[group].append(time)
            runtime.cycle_time[group] += time
        totals, booked = runtime.totals[group], token.booked
        for label, seconds in enumerate(booked):
            if seconds:
                totals[label] += seconds
                booked[label] = 0.0

    def again(token: Token, now: float) -> bool:
        while runtime.code[token.pc](token, now):
            pass
        return False

    def run(token: Token, now: float) -> bool:
        book(token, now)
        kind, starts = plan.groups[token.group].kind, plan.groups[token.group].starts
        if kind == "closed":
            begun, token.begun = token.begun, now
            token.pc = pc + 1 if onward else starts[0]
            if not lost:
                runtime.ended(token.group, now)
            if begun == now:
                # Through the event list, so that a cycle that takes no time does not exclude the other tokens.
                heappush(runtime.heap, (now, runtime.order(), again, token))
            return begun != now
        if kind == "open":
            if not lost:
                runtime.ended(token.group, now)
            runtime.pools[token.group].append(token)
            return False
        runtime.cycles[token.group] += 1
        runtime.alive -= 1
        if not runtime.alive:
            runtime.snapshot(now)
        return False

    return run


def fork(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """FORK: start one token for each branch."""
    first, count, after = operands[:3]
    targets = runtime.plan.targets

    def run(token: Token, now: float) -> bool:
        token.pc = after
        token.left, token.last = count, -1.0
        for index in range(count):
            branch = runtime.token(token.customer, token.group, token, index)
            branch.since = now
            branch.pc = targets[first + index]
            runtime.ready.append(branch)
        return False

    return run


def join(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """JOIN: end a branch; the last of them continues the parent.

    The account of the parent follows the branch that ends last; of several that end together, the first written.
    """
    pipeline = operands[0]

    def run(token: Token, now: float) -> bool:
        parent = token.parent
        assert parent is not None
        if now > parent.last or token.index < parent.latest:
            parent.last, parent.latest, parent.latest_booked = now, token.index, token.booked
        parent.left -= 1
        if not parent.left:
            booked = parent.booked
            for label, seconds in enumerate(parent.latest_booked):
                booked[label] += seconds
            if pipeline >= 0:
                runtime.passes[pipeline] += 1
                runtime.spans[pipeline] += now - parent.since
            parent.since = now
            runtime.ready.append(parent)
        return False

    return run


def pipeline(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """PIPELINE: start one token for each item; a fraction of an item is the probability of one more."""
    count, draws, start_response, after = (
        runtime.plan.counts[operands[0]],
        runtime.draws[operands[1]],
        operands[2],
        operands[3],
    )
    whole = int(count)

    def run(token: Token, now: float) -> bool:
        token.pc = after
        items = whole + (next(draws) < count - whole)
        if not items:
            return True
        token.left, token.last = items, -1.0
        before = None
        for index in range(items):
            item = runtime.token(token.customer, token.group, token, index)
            item.since, item.pc, item.before = now, start_response, before
            if before is not None:
                before.after = item
            before = item
            runtime.ready.append(item)
        return False

    return run


def enter_stage(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ENTER_STAGE: wait until the item before has left this serial stage."""
    stage = operands[0]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if token.before is None or token.before.passed > stage:
            return True
        token.turn = stage
        return False

    return run


def leave_stage(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """LEAVE_STAGE: let the next item into this serial stage.

    Where the next item waited, it waited for this one: its account up to now becomes a copy of this item's.
    """
    stage = operands[0]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.passed = stage + 1
        following = token.after
        if following is not None and following.turn == stage:
            following.turn = -1
            if now > following.since:
                following.booked[:] = token.booked
                following.since = now
            runtime.ready.append(following)
        return True

    return run


PLACES = 2.0**53

"""Positions in a random order: as many as a random number distinguishes."""


def acquire(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ACQUIRE: hold the lock, in the order of the requests."""
    lock, label = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.label = label
        lock.request(token, now)
        if lock.free:
            lock.grant(token, now)
            return True
        lock.queue.append(token)
        return False

    return run


def release(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """RELEASE: release the lock."""
    lock = runtime.locks[operands[0]]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        lock.release(token, now)
        return True

    return run


def request(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """REQUEST: count as present at the lock from now on, while spinning."""
    lock = runtime.locks[operands[0]]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        lock.request(token, now)
        return True

    return run


def try_(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """TRY: hold the lock if it is free, else jump."""
    lock, elsewhere = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        if not lock.free:
            token.pc = elsewhere
            return True
        token.pc = pc + 1
        lock.accumulate(now)
        lock.grant(token, now)
        return True

    return run


def await_free(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """AWAIT_FREE: wait until the lock is released, spinning on a cached copy that loads no station."""
    lock, label = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if lock.free:
            return True
        token.label = label
        lock.spinning.append(token)
        return False

    return run


def back_off(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """BACK_OFF: pause before the next attempt; the mean pause doubles up to a limit."""
    times, label, register, then = runtime.draws[operands[0]], operands[1], operands[2], pc + 1
    base, most = runtime.plan.counts[operands[3]], runtime.plan.counts[operands[4]]

    def run(token: Token, now: float) -> bool:
        token.pc = then
        token.label = label
        doublings = token.registers[register]
        time = min(base * float(1 << doublings), most) * next(times)
        token.registers[register] = min(doublings + 1, 60)
        heappush(runtime.heap, (now + time, runtime.order(), runtime.resume, token))
        return False

    return run


def take_ticket(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """TAKE_TICKET: take the next number of a ticket lock, and count as present at the lock."""
    lock, register = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.registers[register] = lock.done + lock.present
        lock.request(token, now)
        return True

    return run


def await_turn(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """AWAIT_TURN: hold the lock if the token's number is called, else wait for the next release and read again.

    After a release all waiting tokens read the number again, in an order drawn anew each time: the order in which a bus
    or a memory serves them does not depend on their numbers.
    """
    lock, label, register = runtime.locks[operands[0]], operands[1], operands[2]
    places, look = runtime.draws[operands[3]], operands[4]

    def run(token: Token, now: float) -> bool:
        token.key = int(next(places) * PLACES)
        if token.registers[register] == lock.done:
            token.pc = pc + 1
            lock.accumulate(now)
            lock.grant(token, now)
            return True
        token.pc = look
        token.label = label
        lock.spin_in_order(token)
        return False

    return run


def barrier(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """BARRIER: wait until `parties` have arrived; the last arrival wakes the others in the order of arrival."""
    waiting, parties, label = runtime.barriers[operands[0]], operands[1], operands[2]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if len(waiting) + 1 < parties:
            token.label = label
            waiting.append(token)
            return False
        wake_all(runtime, waiting, now)
        return True

    return run


def wake_all(runtime: Runtime, waiting: list[Token], now: float) -> None:
    """Wake all waiting tokens."""
    for each in waiting:
        runtime.wake(each, now)
    waiting.clear()


def combine(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """COMBINE: the last arrival at a node of the tree continues to the next level; the others wait for the root."""
    first, span, radix, children, barrier, label, after = operands
    nodes, waiting = runtime.nodes, runtime.barriers[barrier]

    def run(token: Token, now: float) -> bool:
        node = token.customer // span
        nodes[first + node] += 1
        if nodes[first + node] == min(radix, children - node * radix):
            nodes[first + node] = 0
            token.pc = pc + 1
            return True
        token.pc = after
        token.label = label
        waiting.append(token)
        return False

    return run


def open_barrier(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """OPEN_BARRIER: wake all tokens that wait at the barrier."""
    waiting = runtime.barriers[operands[0]]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        wake_all(runtime, waiting, now)
        return True

    return run


def signal(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SIGNAL: set the flag of the customer at a distance."""
    first, distance, customers = operands[:3]
    flags, waiters = runtime.flags, runtime.flag_waiters

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        flag = first + (token.customer + distance) % customers
        waiter = waiters[flag]
        if waiter is None:
            flags[flag] += 1
        else:
            waiters[flag] = None
            runtime.wake(waiter, now)
        return True

    return run


def await_signal(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """AWAIT_SIGNAL: wait until the customer's own flag is set, and clear it."""
    first, label = operands[:2]
    flags, waiters = runtime.flags, runtime.flag_waiters

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        flag = first + token.customer
        if flags[flag]:
            flags[flag] -= 1
            return True
        token.label = label
        waiters[flag] = token
        return False

    return run


INSTRUCTIONS: dict[Op, Callable[[Runtime, int, Sequence[int]], Action]] = {
    Op.DELAY: delay,
    Op.SERVE: serve,
    Op.AIM_AT_RANDOM: aim_at_random,
    Op.AIM_IN_TURN: aim_in_turn,
    Op.CHOOSE: choose,
    Op.JUMP: jump,
    Op.SET_COUNT: set_count,
    Op.LOOP: loop,
    Op.SWITCH: switch,
    Op.END: end,
    Op.FORK: fork,
    Op.JOIN: join,
    Op.PIPELINE: pipeline,
    Op.ENTER_STAGE: enter_stage,
    Op.LEAVE_STAGE: leave_stage,
    Op.ACQUIRE: acquire,
    Op.RELEASE: release,
    Op.REQUEST: request,
    Op.TRY: try_,
    Op.AWAIT_FREE: await_free,
    Op.BACK_OFF: back_off,
    Op.TAKE_TICKET: take_ticket,
    Op.AWAIT_TURN: await_turn,
    Op.BARRIER: barrier,
    Op.COMBINE: combine,
    Op.OPEN_BARRIER: open_barrier,
    Op.SIGNAL: signal,
    Op.AWAIT_SIGNAL: await_signal,
    Op.ADMIT: admit,
    Op.START_RESPONSE: start_response,
}
"""What each instruction means: a function that takes the run, the number of the instruction and its operands, and gives
the action of a token that executes it."""
