"""Deadlocks: no customer can ever go on; the message says which customer waits for what."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.errors import NoAnswerError, Unsolvable
from slipstick.late import dataclass

MOST_SHOWN = 8
"""Largest number of customers that a message on a deadlock lists."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A waiting customer, the resource that it waits for, and the customers that hold this
    resource.

    Parameters
    ----------
    customer : its number
    awaited_resource : what it waits for, such as ``lock door``
    holders : the customers of which any could end the wait; none where other customers must arrive
    """

    customer: int
    awaited_resource: str
    holders: tuple[int, ...] = ()

    def __str__(self) -> str:
        shown_holders = [str(holder) for holder in self.holders[:MOST_SHOWN]]
        further_holders = (
            [f"and {len(self.holders) - MOST_SHOWN} more"] if len(self.holders) > MOST_SHOWN else []
        )
        holders_in_words = (
            f", held by processor{'s' if len(shown_holders) > 1 else ''}"
            f" {', '.join([*shown_holders, *further_holders])}"
            if shown_holders
            else ""
        )
        return f"processor {self.customer} waits for {self.awaited_resource}{holders_in_words}"


def deadlock_error(time: float, waits: Sequence[Wait]) -> NoAnswerError:
    """Return an error that describes a deadlock in words.

    >>> print(deadlock_error(2.0, [Wait(0, "lock a", (1,)), Wait(1, "lock b", (0,))]))
    deadlock at 2 s: processor 0 waits for lock a, held by processor 1; processor 1 waits for lock
    b, held by processor 0
    """
    wait_texts = [
        str(wait) for wait in sorted(waits, key=lambda wait: (wait.customer, wait.awaited_resource))
    ]
    if len(wait_texts) > MOST_SHOWN:
        wait_texts = [*wait_texts[:MOST_SHOWN], f"and {len(wait_texts) - MOST_SHOWN} more wait"]
    reason = f"deadlock at {time:g} s: {'; '.join(wait_texts) or 'no customer is left'}"
    return NoAnswerError(Unsolvable(reason))


def lock_cycle(waits: Sequence[Wait]) -> list[Wait]:
    """Return the waits of customers that wait for each other in a cycle, while other customers may
    continue; empty if there is no cycle.

    A customer is blocked if it waits for one resource, all of whose holders are blocked; the cycle
    is found by following the first holder of each.

    >>> waits = [Wait(5, "lock c", (0,)), Wait(0, "lock a", (1,)), Wait(1, "lock b", (0,))]
    >>> [wait.customer for wait in lock_cycle(waits)]
    [0, 1]
    >>> lock_cycle([Wait(0, "permits a", (1, 2)), Wait(1, "lock b", (0,))])
    []
    """
    waits_by_customer: dict[int, list[Wait]] = {}
    for wait in waits:
        if wait.holders:
            waits_by_customer.setdefault(wait.customer, []).append(wait)
    # A customer with several branches may wait several times, and may go on when the first wait
    # ends.
    wait_by_customer = {
        customer: customer_waits[0]
        for customer, customer_waits in waits_by_customer.items()
        if len(customer_waits) == 1
    }
    while free_customers := [
        wait.customer
        for wait in wait_by_customer.values()
        if not wait_by_customer.keys() >= set(wait.holders)
    ]:
        for customer in free_customers:
            # A customer that can go on blocks no others any more, so the search goes on without it.
            del wait_by_customer[customer]
    wait_by_customer_on_path: dict[int, Wait] = {}
    next_customer = next(iter(wait_by_customer), None)
    while next_customer is not None and next_customer not in wait_by_customer_on_path:
        wait_by_customer_on_path[next_customer] = wait_by_customer[next_customer]
        next_customer = wait_by_customer[next_customer].holders[0]
    return (
        list(wait_by_customer_on_path.values())[
            list(wait_by_customer_on_path).index(next_customer) :
        ]
        if next_customer is not None
        else []
    )
