"""Deadlocks: no customer can ever go on; the message says which customer waits for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slipstick.errors import NoAnswerError
from slipstick.sim.plan.plan import Plan

MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Wait:
    """One customer waits.

    Parameters
    ----------
    customer : its number
    what : what it waits for, such as ``lock door``
    holder : the customer that could end the wait; None where other customers must arrive
    """

    customer: int
    what: str
    holder: int | None = None

    def __str__(self) -> str:
        held = "" if self.holder is None else f", held by processor {self.holder}"
        return f"processor {self.customer} waits for {self.what}{held}"


def deadlock(plan: Plan, time: float, waits: Sequence[Wait]) -> NoAnswerError:
    """Word a deadlock.

    >>> print(deadlock(Plan((), ()), 2.0, [Wait(0, "lock a", 1), Wait(1, "lock b", 0)]))
    deadlock at 2 s: processor 0 waits for lock a, held by processor 1; processor 1 waits for lock b, held by processor 0
    """
    shown = [str(each) for each in sorted(waits, key=lambda each: (each.customer, each.what))]
    if len(shown) > MOST_SHOWN:
        shown = [*shown[:MOST_SHOWN], f"and {len(shown) - MOST_SHOWN} more wait"]
    return NoAnswerError(f"deadlock at {time:g} s: {'; '.join(shown) or 'no customer is left'}")


def lock_cycle(waits: Sequence[Wait]) -> list[Wait]:
    """Find customers that wait for each other in a cycle, while others may go on.

    >>> [each.customer for each in lock_cycle([Wait(5, "lock c", 0), Wait(0, "lock a", 1), Wait(1, "lock b", 0)])]
    [0, 1]
    """
    by_customer: dict[int, list[Wait]] = {}
    for each in waits:
        if each.holder is not None:
            by_customer.setdefault(each.customer, []).append(each)
    for first in by_customer:
        chain: dict[int, Wait] = {}
        customer = first
        # A customer with several branches may wait several times, and may go on when the first wait ends.
        while customer in by_customer and len(by_customer[customer]) == 1 and customer not in chain:
            chain[customer] = by_customer[customer][0]
            holder = by_customer[customer][0].holder
            assert holder is not None
            customer = holder
        if customer in chain:
            circle = list(chain)
            return [chain[each] for each in circle[circle.index(customer) :]]
    return []
