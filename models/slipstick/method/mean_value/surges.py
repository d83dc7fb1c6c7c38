"""What happens when all processors set out at once: waves through the queues of a section."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slipstick.method.mean_value.passes import Pass
from slipstick.method.mean_value.spans import NOTHING, Array, Span, one_after_the_other, rounds
from slipstick.method.mean_value.tree import Leaf, Locked, Node, Rounds, Series, Visit, frequencies, inside
from slipstick.method.mean_value.waves import MOST, Wave
from slipstick.model.system import Station, is_processor

__all__ = ["surge"]


def surge(made: Pass, nodes: Sequence[Node], count: int) -> Span | None:
    """Give the time until the last of all processors is through; None where there is nothing to wait for.

    The waits at the queues passed are put in the place of those of the steady state.
    """
    if count < 2 or count > MOST or not any(_queued(visit) for node in nodes for visit in inside(node)):
        return None
    return _Surge(made, count).through(nodes)


def _queued(visit: Visit) -> bool:
    return not is_processor(visit.queue)


class _Surge:
    def __init__(self, made: Pass, count: int) -> None:
        self.made = made
        self.wave = Wave.together(count)
        self.pending = NOTHING

    def through(self, nodes: Sequence[Node]) -> Span:
        for node in nodes:
            self._go(node)
        return self.wave.end(self.pending)

    def _go(self, node: Node) -> None:
        found = self.made.found
        match node:
            case Series(parts):
                for part in parts:
                    self._go(part)
            case Leaf(_, visit) | Locked(visit, _) if visit is not None and _queued(visit):
                wait = self._queue(visit, found.services[visit.index])
                found.waits[visit.index] = Span(wait, 0 * wait)
            case Rounds(count, Leaf(_, visit)) if visit is not None and _queued(visit):
                often = self.made.numbers[count]
                wait = self._queue(visit, rounds(often, found.services[visit.index]))
                found.waits[visit.index] = Span(wait / (often + 1e-300), 0 * wait)
            case _:
                self._composite(node)

    def _queue(self, visit: Visit, service: Span) -> Array:
        self.wave, wait = self._flushed().served(service, self._servers(visit))
        return wait

    def _flushed(self) -> Wave:
        pending, self.pending = self.pending, NOTHING
        return self.wave if pending is NOTHING else self.wave.delayed(pending)

    def _servers(self, visit: Visit) -> int:
        resource = self.made.model.resources.get(visit.queue)
        return resource.servers if isinstance(resource, Station) else 1

    def _composite(self, node: Node) -> None:
        """Wait for all the work that others ask of each queue, then take the time it takes alone."""
        visits = [visit for visit in inside(node) if _queued(visit) and visit.index in self.made.found.services]
        often = frequencies(node, self.made.numbers)
        for name in dict.fromkeys(visit.queue for visit in visits):
            here = [visit for visit in visits if visit.queue == name]
            work = one_after_the_other([rounds(often[v.index], self.made.found.services[v.index]) for v in here])
            self.wave, wait = self._flushed().held_up(work, self._servers(here[0]))
            times = sum((often[visit.index] for visit in here), np.zeros(1)) + 1e-300
            for visit in here:
                self.made.found.waits[visit.index] = Span(wait / times, 0 * wait)
        self.pending = one_after_the_other([self.pending, self.made.alone().span(node)])
