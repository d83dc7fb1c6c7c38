"""What happens when all processors set out at once: waves through the queues of a section."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slipstick.method.mean_value.longest import first_largest
from slipstick.method.mean_value.passes import Pass
from slipstick.method.mean_value.spans import NOTHING, Array, Span, one_after_the_other, rounds
from slipstick.method.mean_value.tree import Leaf, Line, Locked, Node, Parallel, Rounds, Series, Visit, frequencies, inside
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
                wait = self._queue(visit, found.services[visit.index], np.ones(1))
                found.waits[visit.index] = Span(wait, 0 * wait)
            case Rounds(count, Leaf(_, visit)) if visit is not None and _queued(visit):
                often = self.made.numbers[count]
                turns = np.where(often.real > 1, often, 1)
                wait = self._queue(visit, rounds(often, found.services[visit.index]), 1 / turns)
                found.waits[visit.index] = Span(wait / (often + 1e-300), 0 * wait)
            case _:
                self._composite(node)

    def _queue(self, visit: Visit, service: Span, left: Array) -> Array:
        together = left * self._apart(visit, service)
        self.wave, wait = self._flushed().served(service, self._servers(visit), together)
        return wait

    def _apart(self, visit: Visit, service: Span) -> Array:
        """Say what part of the gaps remains where servers are shared: none of constant services."""
        resource = self.made.model.resources.get(visit.queue)
        if not (isinstance(resource, Station) and resource.discipline == "ps"):
            return np.ones(1)
        scv = service.variance / (service.mean * service.mean + 1e-300)
        return np.where(scv.real < 1, scv, 1)

    def _flushed(self) -> Wave:
        pending, self.pending = self.pending, NOTHING
        return self.wave if pending is NOTHING else self.wave.delayed(pending)

    def _servers(self, visit: Visit) -> int:
        resource = self.made.model.resources.get(visit.queue)
        return resource.servers if isinstance(resource, Station) else 1

    def _composite(self, node: Node) -> None:
        """Wait for all the work that others ask of each queue, then take the time it takes alone."""
        visits = [visit for visit in inside(node) if _queued(visit) and visit.index in self.made.found.services]
        alone = self.made.alone().span(node)
        for name in dict.fromkeys(visit.queue for visit in visits):
            here = [visit for visit in visits if visit.queue == name]
            wait = self._interleaved(node, here, alone)
            times = sum((frequencies(node, self.made.numbers)[v.index] for v in here), np.zeros(1)) + 1e-300
            for visit in here:
                self.made.found.waits[visit.index] = Span(wait / times, 0 * wait)
        self.pending = one_after_the_other([self.pending, alone])

    def _interleaved(self, node: Node, here: Sequence[Visit], alone: Span) -> Array:
        """Wait at one queue inside: all are done when it has done its work, but not before their own time is over."""
        before, servers = self._flushed(), self._servers(here[0])
        work, lead, turns = self._work(node, here)
        done, _ = before.held_up(work, servers)
        done = done.closed_up(before, work.mean / servers, 1 / turns)
        late = done.times + (lead + work.mean - alone.mean)[..., None]
        times = np.where(late.real > before.times.real, late, before.times)
        self.wave = Wave(times, done.gaps)
        return (times - before.times).mean(axis=-1)

    def _work(self, node: Node, here: Sequence[Visit]) -> tuple[Span, Array, Array]:
        """Give what a part of the tree asks of a queue, the time beside it that cannot overlap, and the turns taken."""
        often = frequencies(node, self.made.numbers)
        services = self.made.found.services
        parts = [rounds(often[v.index], services[v.index]) for v in here if v.index in often]
        work = one_after_the_other(parts)
        turns = np.ones(1)
        match node:
            case Rounds(count, body):
                turns = np.where(self.made.numbers[count].real > 1, self.made.numbers[count], 1)
                once, lead, _ = self._work(body, here)
            case Line(pipeline, stages):
                turns = self.made.numbers[pipeline.items]
                once = one_after_the_other([self.made.alone().span(bodies[0]) for bodies in stages])
                lead = once.mean - work.mean / turns
            case Parallel(branches):
                used = [b for b in branches if any(v in here for v in inside(b))]
                lead = -first_largest([-self._work(b, here)[1] for b in used])
            case _:
                lead = self.made.alone().span(node).mean - work.mean
        return work, lead, turns
