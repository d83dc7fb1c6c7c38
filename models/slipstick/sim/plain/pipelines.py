"""Instructions for pipelines: items that pass serial stages one at a time and in order."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plain.token import Action, Token

__all__ = ["enter", "leave", "pipe"]


def pipe(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """PIPE: let items run through the stages; a fraction of an item is the chance of one more."""
    count, draws, begin, after = runtime.plan.counts[operands[0]], runtime.draws[operands[1]], operands[2], operands[3]
    whole = int(count)

    def run(token: Token, now: float) -> bool:
        token.pc = after
        items = whole + (next(draws) < count - whole)
        if not items:
            return True
        token.left, token.last = items, -1.0
        before = None
        for index in range(items):
            item = runtime.token(token.member, token.group, token, index)
            item.since, item.pc, item.before = now, begin, before
            if before is not None:
                before.after = item
            before = item
            runtime.ready.append(item)
        return False

    return run


def enter(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ENTER: wait until the item before has left this serial stage."""
    stage = operands[0]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if token.before is None or token.before.passed > stage:
            return True
        token.turn = stage
        return False

    return run


def leave(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """LEAVE: let the next item into this serial stage.

    If it had to wait, what held it up is this item: its line up to now is this item's.
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
