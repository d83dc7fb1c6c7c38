"""The plain kernel: one run of a plan in plain Python, the executable specification of the simulator.

The compiled kernel (`slipstick.sim.compiled`) gives the same events and the same statistics to the last bit.
"""

from __future__ import annotations

import itertools
from heapq import heappush

import numpy as np

from slipstick.sim.deadlock import Wait
from slipstick.sim.plain.event_loop import Action, LogTime, ObserveResource, Token
from slipstick.sim.plain.instructions import INSTRUCTIONS
from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plan.distributions import Array
from slipstick.sim.plan.plan import CustomerGroup, Op, Plan

Trace = list[tuple[float, int, int, int]]
"""(time [s], customer, branch or item, number of the instruction) of every instruction executed."""


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
        log: LogTime | None = None,
        observe: ObserveResource | None = None,
    ) -> None:
        super().__init__(plan, seed, replication, log, observe)
        self._assemble(trace)
        self._start()

    def _assemble(self, trace: Trace | None) -> None:
        for pc, (op, *operands) in enumerate(self.plan.code):
            action = INSTRUCTIONS[Op(op)](self, pc, operands)
            self.code.append(action if trace is None else traced(action, pc, trace))

    def _start(self) -> None:
        number = itertools.count()
        for group, customers in enumerate(self.plan.groups):
            if customers.kind == "open":
                self._open(group, customers)
                continue
            for start in customers.starts:
                token = self.token(next(number), group)
                token.pc = start
                self.ready.append(token)

    def _open(self, group: int, customers: CustomerGroup) -> None:
        """Plan the arrivals of an open group; tokens of customers that have left are used again."""
        pool = self.pools[group]
        between, start, order, heap = self.draws[customers.arrivals], customers.starts[0], self.order, self.heap
        number = itertools.count()

        def arrive(_: None, now: float) -> bool:
            heappush(heap, (now + next(between), order(), arrive, None))
            token = pool.pop() if pool else self.token(0, group)
            token.customer = next(number)
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
        """List the customers that wait for locks, barriers and signals."""
        found = []
        for plan, lock in zip(self.plan.locks, self.locks, strict=True):
            holders = tuple(each.customer for each in lock.holders)
            found += [
                Wait(each.customer, f"{plan.noun} {plan.name}", holders) for each in (*lock.queue, *lock.spinning)
            ]
        for name, waiting in zip(self.plan.barriers, self.barriers, strict=True):
            found += [Wait(each.customer, f"barrier {name}") for each in waiting]
        found += [Wait(each.customer, "a signal") for each in self.flag_waiters if each is not None]
        return found


def traced(action: Action, pc: int, trace: Trace) -> Action:
    """Add every execution of an instruction to a trace."""

    def run(token: Token, now: float) -> bool:
        trace.append((now, token.customer, token.index, pc))
        return action(token, now)

    return run
