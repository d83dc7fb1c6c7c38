"""Instructions for locks.

A spin lock is spelt in instructions (see `slipstick.sim.plan.kinds`): each test or test-and-set is a visit
to the resource that holds the lock word, then TRY, WATCH or CALL looks at the lock itself. Those who came and those who
are done with a lock are counted anyway, and these counts are the numbers that a ticket lock hands out and calls up.

Instructions for barriers: meetings, the nodes of combining trees, and the flags of dissemination barriers.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush

from slipstick.sim.plain.clock import Action, Token
from slipstick.sim.plain.runtime import Runtime

PLACES = 2.0**53
"""Places in an order drawn at random: as many as a random number tells apart."""


def acquire(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ACQUIRE: hold the lock, after all who asked before."""
    lock, label = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.label = label
        lock.ask(token, now)
        if lock.owner is None:
            lock.take(token, now)
            return True
        lock.queue.append(token)
        return False

    return run


def release(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """RELEASE: hold it no longer."""
    lock = runtime.locks[operands[0]]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        lock.release(now)
        return True

    return run


def ask(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ASK: count as present at the lock while spinning for it."""
    lock = runtime.locks[operands[0]]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        lock.ask(token, now)
        return True

    return run


def try_(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """TRY: hold the lock if nobody does, else go elsewhere."""
    lock, elsewhere = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        if lock.owner is not None:
            token.pc = elsewhere
            return True
        token.pc = pc + 1
        lock.flush(now)
        lock.take(token, now)
        return True

    return run


def watch(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """WATCH: wait, loading nobody, until the lock is seen free."""
    lock, label = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if lock.owner is None:
            return True
        token.label = label
        lock.watchers.append(token)
        return False

    return run


def back(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """BACK: back off from a lock, longer each time."""
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


def number(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """NUMBER: take the next number of a ticket lock, and count as present there."""
    lock, register = runtime.locks[operands[0]], operands[1]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.registers[register] = lock.done + lock.present
        lock.ask(token, now)
        return True

    return run


def call(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """CALL: hold the lock if one's number is up, else wait for the next release and look again.

    Those who look again do so in an order drawn anew each time, as whom a bus or a memory serves first does not depend
    on the numbers.
    """
    lock, label, register = runtime.locks[operands[0]], operands[1], operands[2]
    places, look = runtime.draws[operands[3]], operands[4]

    def run(token: Token, now: float) -> bool:
        token.key = int(next(places) * PLACES)
        if token.registers[register] == lock.done:
            token.pc = pc + 1
            lock.flush(now)
            lock.take(token, now)
            return True
        token.pc = look
        token.label = label
        lock.watch(token)
        return False

    return run


def meet(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """MEET: wait until `parties` have come; the last one lets the others go in the order they came."""
    waiting, parties, label = runtime.barriers[operands[0]], operands[1], operands[2]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if len(waiting) + 1 < parties:
            token.label = label
            waiting.append(token)
            return False
        let_go(runtime, waiting, now)
        return True

    return run


def let_go(runtime: Runtime, waiting: list[Token], now: float) -> None:
    """Wake all who wait."""
    for each in waiting:
        runtime.wake(each, now)
    waiting.clear()


def combine(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """COMBINE: the last one at its node of the tree climbs on; the others wait for the root."""
    first, span, radix, children, barrier, label, after = operands
    nodes, waiting = runtime.nodes, runtime.barriers[barrier]

    def run(token: Token, now: float) -> bool:
        node = token.member // span
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


def free(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """FREE: let all who wait at the barrier go."""
    waiting = runtime.barriers[operands[0]]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        let_go(runtime, waiting, now)
        return True

    return run


def post(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """POST: raise the flag of the member some way on."""
    first, distance, members = operands[:3]
    flags, waiters = runtime.flags, runtime.flag_waiters

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        flag = first + (token.member + distance) % members
        waiter = waiters[flag]
        if waiter is None:
            flags[flag] += 1
        else:
            waiters[flag] = None
            runtime.wake(waiter, now)
        return True

    return run


def await_(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """AWAIT: take one's own flag down, waiting for it to be raised."""
    first, label = operands[:2]
    flags, waiters = runtime.flags, runtime.flag_waiters

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        flag = first + token.member
        if flags[flag]:
            flags[flag] -= 1
            return True
        token.label = label
        waiters[flag] = token
        return False

    return run
