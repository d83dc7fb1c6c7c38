"""Instructions for barriers: meetings, the nodes of combining trees, and the flags of dissemination barriers."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plain.token import Action, Token

__all__ = ["await_", "combine", "free", "meet", "post"]


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
