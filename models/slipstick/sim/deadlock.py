"""Deadlock: nobody can ever go on; who waits for what, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slipstick.errors import NoAnswerError
from slipstick.sim.plan.plan import Plan

MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody waits.

    Parameters
    ----------
    member : who
    what : for what, such as ``lock door``
    holder : the member who could end it, or None if it takes others to come
    """

    member: int
    what: str
    holder: int | None = None

    def __str__(self) -> str:
        held = "" if self.holder is None else f", held by processor {self.holder}"
        return f"processor {self.member} waits for {self.what}{held}"


def deadlock(plan: Plan, time: float, waits: Sequence[Wait]) -> NoAnswerError:
    """Word a deadlock.

    >>> print(deadlock(Plan((), ()), 2.0, [Wait(0, "lock a", 1), Wait(1, "lock b", 0)]))
    deadlock at 2 s: processor 0 waits for lock a, held by processor 1; processor 1 waits for lock b, held by processor 0
    """
    shown = [str(each) for each in sorted(waits, key=lambda each: (each.member, each.what))]
    if len(shown) > MOST_SHOWN:
        shown = [*shown[:MOST_SHOWN], f"and {len(shown) - MOST_SHOWN} more wait"]
    return NoAnswerError(f"deadlock at {time:g} s: {'; '.join(shown) or 'nobody is left'}")


def lock_cycle(waits: Sequence[Wait]) -> list[Wait]:
    """Find members who wait for each other in a circle, while others may well go on.

    >>> [each.member for each in lock_cycle([Wait(5, "lock c", 0), Wait(0, "lock a", 1), Wait(1, "lock b", 0)])]
    [0, 1]
    """
    by_member: dict[int, list[Wait]] = {}
    for each in waits:
        if each.holder is not None:
            by_member.setdefault(each.member, []).append(each)
    for first in by_member:
        chain: dict[int, Wait] = {}
        member = first
        # A member with several branches may wait several times: then it may still go on, but for the first.
        while member in by_member and len(by_member[member]) == 1 and member not in chain:
            chain[member] = by_member[member][0]
            holder = by_member[member][0].holder
            assert holder is not None
            member = holder
        if member in chain:
            circle = list(chain)
            return [chain[each] for each in circle[circle.index(member) :]]
    return []
