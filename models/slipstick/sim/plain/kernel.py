"""The plain kernel: tokens that run the instructions of a plan, event by event.

What each instruction means is said in `flow` (time, choices, loops, forks), `pipelines`, `locking` and
`meeting`; what they work on is the `runtime`.

What each instruction means: the table that a kernel assembles a plan with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from heapq import heappush

import numpy as np

from slipstick.sim.deadlock import Wait
from slipstick.sim.plain import flow, locks_and_barriers
from slipstick.sim.plain.clock import Action, Log, Token, Watch
from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plan.plan import Members, Op, Plan
from slipstick.sim.plan.streams import Array

MEANING: dict[Op, Callable[[Runtime, int, Sequence[int]], Action]] = {
    Op.DELAY: flow.delay,
    Op.SERVE: flow.serve,
    Op.PICK: flow.pick,
    Op.EACH: flow.each,
    Op.CHOOSE: flow.choose,
    Op.JUMP: flow.jump,
    Op.SET: flow.set_,
    Op.LOOP: flow.loop,
    Op.SWITCH: flow.switch,
    Op.END: flow.end,
    Op.FORK: flow.fork,
    Op.JOIN: flow.join,
    Op.PIPE: flow.pipe,
    Op.ENTER: flow.enter,
    Op.LEAVE: flow.leave,
    Op.ACQUIRE: locks_and_barriers.acquire,
    Op.RELEASE: locks_and_barriers.release,
    Op.ASK: locks_and_barriers.ask,
    Op.TRY: locks_and_barriers.try_,
    Op.WATCH: locks_and_barriers.watch,
    Op.BACK: locks_and_barriers.back,
    Op.NUMBER: locks_and_barriers.number,
    Op.CALL: locks_and_barriers.call,
    Op.MEET: locks_and_barriers.meet,
    Op.COMBINE: locks_and_barriers.combine,
    Op.FREE: locks_and_barriers.free,
    Op.POST: locks_and_barriers.post,
    Op.AWAIT: locks_and_barriers.await_,
    Op.ADMIT: flow.admit,
    Op.BEGIN: flow.begin,
}

Trace = list[tuple[float, int, int, int]]
"""(time, member, branch or item, instruction) of every instruction executed."""


class Kernel(Runtime):
    """One run of a plan.

    Parameters
    ----------
    plan : what to run
    seed, replication : keys of the random streams
    trace : collects what is executed
    log, watch : told what happens
    """

    def __init__(
        self,
        plan: Plan,
        seed: int = 0,
        replication: int = 0,
        *,
        trace: Trace | None = None,
        log: Log | None = None,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(plan, seed, replication, log, watch)
        self._assemble(trace)
        self._start()

    def _assemble(self, trace: Trace | None) -> None:
        for pc, (op, *operands) in enumerate(self.plan.code):
            action = MEANING[Op(op)](self, pc, operands)
            self.code.append(action if trace is None else traced(action, pc, trace))

    def _start(self) -> None:
        number = itertools.count()
        for group, members in enumerate(self.plan.members):
            if members.kind == "open":
                self._open(group, members)
                continue
            for start in members.starts:
                token = self.token(next(number), group)
                token.pc = start
                self.ready.append(token)

    def _open(self, group: int, members: Members) -> None:
        """Let members arrive; those who have left are used again."""
        pool = self.pools[group]
        between, start, order, heap = self.draws[members.arrivals], members.starts[0], self.order, self.heap
        number = itertools.count()

        def arrive(_: None, now: float) -> bool:
            heappush(heap, (now + next(between), order(), arrive, None))
            token = pool.pop() if pool else self.token(0, group)
            token.member = next(number)
            token.pc, token.begun, token.since = start, now, now
            code = self.code
            while code[token.pc](token, now):
                pass
            return False

        heappush(heap, (next(between), order(), arrive, None))

    def take_rows(self) -> Array:
        """Give the rows written since the last time."""
        rows = np.array(self.rows).reshape(len(self.rows), self.layout.width)
        self.rows.clear()
        return rows

    def take_responses(self, group: int) -> Array:
        """Give the times of the cycles of a class that ended since the last time [s]."""
        times = np.array(self.responses[group])
        self.responses[group].clear()
        return times

    def waits(self) -> list[Wait]:
        """List who waits for locks, barriers and flags."""
        found = []
        for lock in self.locks:
            holder = None if lock.owner is None else lock.owner.member
            found += [Wait(each.member, f"lock {lock.name}", holder) for each in (*lock.queue, *lock.watchers)]
        for name, waiting in zip(self.plan.barriers, self.barriers, strict=True):
            found += [Wait(each.member, f"barrier {name}") for each in waiting]
        found += [Wait(each.member, "word from another") for each in self.flag_waiters if each is not None]
        return found


def traced(action: Action, pc: int, trace: Trace) -> Action:
    """Write down every execution of an instruction."""

    def run(token: Token, now: float) -> bool:
        trace.append((now, token.member, token.index, pc))
        return action(token, now)

    return run
