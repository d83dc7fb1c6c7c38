"""Deadlocks by the order of locks: locks taken in a cycle by processors that can run at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slipstick.model.activity import Activity, BarrierWait, Fork, Hold, Pipeline, steps
from slipstick.model.system import Model


@dataclass(frozen=True, slots=True)
class LockCycle:
    """Locks that may wait for each other without end.

    Parameters
    ----------
    locks : in the order in which each is requested while the one before is held
    processors : that it takes: one for each lock, or one whose branches take them
    """

    locks: tuple[str, ...]
    processors: int

    def __str__(self) -> str:
        first, *others = self.locks
        named, order = (
            (f"{first} and {others[0]}", "in both orders")
            if len(others) == 1
            else (f"{', '.join(self.locks[:-1])} and {self.locks[-1]}", "in a cycle")
        )
        return f"locks {named} are taken {order}: their holders may wait for each other without end; take them in one order"


@dataclass(frozen=True, slots=True)
class _NestedHold:
    """A lock requested while another is held, in a part of a body between two barriers of all processors.

    Parameters
    ----------
    held, wanted : the two locks
    guards : all locks held at that moment
    section : number of the part
    """

    held: str
    wanted: str
    guards: frozenset[str]
    section: tuple[int, int]


def lock_cycle(model: Model) -> LockCycle | None:
    """Find locks, or permits of one, that are taken in a cycle; None where no holders can wait for each other.

    Two requests are no danger to each other if one lock is held at both, or if a barrier of all processors or the end of
    a phase is between them.

    Source: Coffman, Elphick and Shoshani, ACM Computing Surveys 3(2), 1971, 67-78 (circular wait).

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import closed_model
    >>> there, back = hold("a", hold("b", delay(1.0, name="x"))), hold("b", hold("a", delay(1.0, name="y")))
    >>> print(lock_cycle(closed_model(there >> back, processors=2)))
    locks a and b are taken in both orders: their holders may wait for each other without end; take them in one order
    >>> lock_cycle(closed_model(there, processors=2))
    """
    exclusive = [each for each in model.resources.values() if each.use == "hold" and each.capacity == 1]
    if len(exclusive) < 2:
        return None
    together = bool(model.population.groups)
    found: dict[_NestedHold, None] = {}
    for number, body in enumerate(model.bodies):
        found.update(dict.fromkeys(_NestedHolds(model, 0 if together else number).of(body)))
    requests = _without_ends(list(found))
    for request in requests:
        locks = _closing((request,), requests)
        if locks:
            branches = any(_requests_in_branches(body, locks) for body in model.bodies)
            return LockCycle(locks, 1 if branches else len(locks))
    return None


def _without_ends(requests: list[_NestedHold]) -> list[_NestedHold]:
    """Leave out requests that no cycle goes through, for a path ends there: where locks have an order, all of them."""
    while True:
        going_on = {(each.section, each.held) for each in requests}
        kept = [each for each in requests if (each.section, each.wanted) in going_on]
        if len(kept) == len(requests):
            return kept
        requests = kept


def _closing(path: tuple[_NestedHold, ...], requests: Sequence[_NestedHold]) -> tuple[str, ...]:
    """Follow requests from lock to lock until the first is reached again; give the locks passed, or nothing."""
    first, last = path[0], path[-1]
    if last.wanted == first.held:
        return tuple(each.held for each in path)
    for request in requests:
        apart = request.section == first.section and not any(request.guards & each.guards for each in path)
        if request.held == last.wanted and apart:
            locks = _closing((*path, request), requests)
            if locks:
                return locks
    return ()


def _requests_in_branches(body: Activity, locks: Sequence[str]) -> bool:
    """Say whether some of the locks are taken in a fork or pipeline, whose parts run at the same time."""
    branches = (node for node in steps(body) if isinstance(node, Fork | Pipeline))
    return any(isinstance(each, Hold) and each.resource in locks for node in branches for each in steps(node))


class _NestedHolds:
    """Lists the requests of a body, section by section.

    Parameters
    ----------
    model : whose resources say what one processor holds at a time
    body : number of the body among those that run one after the other
    """

    def __init__(self, model: Model, body: int) -> None:
        self._model, self._body, self._section = model, body, 0

    def of(self, cycle: Activity) -> Iterator[_NestedHold]:
        found = list(self._requests(cycle, frozenset()))
        # What comes after the last barrier is done with what comes before the first.
        for each in found:
            number = each.section[1] if each.section[1] < self._section else 0
            yield _NestedHold(each.held, each.wanted, each.guards, (self._body, number))

    def _requests(self, node: Activity, held: frozenset[str]) -> Iterator[_NestedHold]:
        if isinstance(node, BarrierWait) and node.parties is None:
            self._section += 1
        if isinstance(node, Hold) and self._model.resources[node.resource].capacity == 1:
            for each in sorted(held):
                yield _NestedHold(each, node.resource, held, (self._body, self._section))
            held = held | {node.resource}
        for part in node.children:
            yield from self._requests(part, held)
