"""What happens when all processors set out at once: a wave through the queues of a section."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from slipstick.method.mean_value.longest import first_largest
from slipstick.method.mean_value.passes import Pass
from slipstick.method.mean_value.spans import NOTHING, Array, Span, one_after_the_other, plus, rounds
from slipstick.method.mean_value.tree import (
    Leaf,
    Line,
    Locked,
    Node,
    Parallel,
    Rounds,
    Series,
    Visit,
    frequencies,
    inside,
)
from slipstick.method.mean_value.waves import MOST, Wave
from slipstick.model.system import Station, is_processor

__all__ = ["surge"]


def surge(made: Pass, nodes: Sequence[Node], count: int) -> Span | None:
    """Give the time until the last of all processors is through; None where there is nothing to wait for.

    The waits at the queues passed are put in the place of those of the steady state.

    Parameters
    ----------
    made : a pass that has gone through the nodes
    nodes : one after the other
    count : processors that set out
    """
    if count < 2 or count > MOST or not any(_queued(visit) for node in nodes for visit in inside(node)):
        return None
    return _Surge(made, count).through(nodes)


def _queued(visit: Visit) -> bool:
    return not is_processor(visit.queue)


class _Surge:
    """A wave on its way; delays are gathered until the next queue."""

    def __init__(self, made: Pass, count: int) -> None:
        self.made, self.waits = made, made.found.waits
        self.wave = Wave.together(count)
        self.pending = NOTHING

    def through(self, nodes: Sequence[Node]) -> Span:
        for node in nodes:
            self._go(node)
        return self.wave.end(self.pending)

    def _go(self, node: Node) -> None:
        match node:
            case Series(parts):
                for part in parts:
                    self._go(part)
            case Leaf(_, visit) | Locked(visit, _) if visit is not None and _queued(visit):
                self._queue(visit, np.ones(1))
            case Rounds(count, Leaf(_, visit)) if visit is not None and _queued(visit):
                self._queue(visit, self.made.numbers[count])
            case _:
                self._composite(node)

    def _queue(self, visit: Visit, count: Array) -> None:
        """Pass a queue a number of times in a row, all in turns."""
        service = rounds(count, self.made.found.services[visit.index])
        before = self._flushed()
        left = self._apart(visit, service) / np.where(count.real > 1, count, 1)
        self.wave, wait = before.served(service, self._servers(visit), left)
        self._waited([visit], wait, count)

    def _composite(self, node: Node) -> None:
        """Wait for all the work that others ask of each queue, then take the time it takes alone.

        Stages and branches work side by side, so their queues hold up at the same time, and the longest hold-up counts.
        Of anything else, the queues are passed one after the other.
        """
        visits = [visit for visit in inside(node) if _queued(visit)]
        alone = self.made.alone().span(node)
        often = frequencies(node, self.made.numbers)
        before, passed = self._flushed(), list[Wave]()
        for name in dict.fromkeys(visit.queue for visit in visits):
            here = [visit for visit in visits if visit.queue == name]
            after = self._interleaved(before, node, here, alone)
            wait: Array = (after.times - before.times).mean(axis=-1)
            self._waited(here, wait, sum((often[visit.index] for visit in here), np.zeros(1)))
            passed.append(after)
            if not isinstance(node, Line | Parallel):
                before = after
        self.wave = reduce(Wave.or_later, passed, before)
        self.pending = alone

    def _interleaved(self, before: Wave, node: Node, here: Sequence[Visit], alone: Span) -> Wave:
        """Wait at one queue inside: nobody is done before it has done his work, nor before his own time is over."""
        servers, side = self._servers(here[0]), self._side_by_side(node, here)
        work, lead, turns = self._work(node, here)
        # Who asks for several servers at once leaves so many fewer to others, and is through as much sooner.
        lanes = max(1, servers // side)
        job = work.scaled(np.full(1, lanes / servers))
        done = before.held_up(job, lanes).closed_up(before, work.mean / servers, 1 / turns)
        late = done.times + (lead + job.mean - alone.mean)[..., None]
        return Wave(np.where(late.real > before.times.real, late, before.times), done.gaps)

    def _side_by_side(self, node: Node, here: Sequence[Visit]) -> int:
        """Count the requests of one processor that can be at a queue at the same time, in branches of a fork."""
        if not isinstance(node, Parallel):
            return 1
        return sum(any(visit in here for visit in inside(branch)) for branch in node.branches)

    def _work(self, node: Node, here: Sequence[Visit]) -> tuple[Span, Array, Array]:
        """Give what a part asks of a queue, the time beside it that cannot overlap, and the turns it takes."""
        numbers, services = self.made.numbers, self.made.found.services
        often = frequencies(node, numbers)
        work = one_after_the_other([rounds(often[v.index], services[v.index]) for v in here if v.index in often])
        match node:
            case Rounds(count, body):
                return work, self._work(body, here)[1], np.where(numbers[count].real > 1, numbers[count], 1)
            case Line(pipeline, stages):
                items = numbers[pipeline.items]
                once = one_after_the_other([self.made.alone().span(bodies[0]) for bodies in stages])
                return work, once.mean - work.mean / items, items if self._in_turns(node, here) else np.ones(1)
            case Parallel(branches):
                used = [branch for branch in branches if any(visit in here for visit in inside(branch))]
                return work, -first_largest([-self._work(branch, here)[1] for branch in used]), np.ones(1)
        return work, self.made.alone().span(node).mean - work.mean, np.ones(1)

    def _in_turns(self, line: Line, here: Sequence[Visit]) -> bool:
        """Say whether processors take turns at a queue, item by item.

        They do where one item waits for another, there or at an earlier queue. Items of a parallel stage stand in line
        together, so who comes first is through with all of them first.
        """
        if self._shared(here[0]):
            return True
        for stage, bodies in zip(line.pipeline.stages, line.stages, strict=True):
            visits = [visit for body in bodies for visit in inside(body) if _queued(visit)]
            if visits and stage.kind == "serial":
                return True
            if any(visit in here for visit in visits):
                return False
        return True

    def _shared(self, visit: Visit) -> bool:
        resource = self.made.model.resources.get(visit.queue)
        return isinstance(resource, Station) and resource.discipline == "ps"

    def _waited(self, visits: Sequence[Visit], wait: Array, often: Array) -> None:
        for visit in visits:
            self.waits[visit.index] = Span(wait / plus(often), 0 * wait)

    def _flushed(self) -> Wave:
        pending, self.pending = self.pending, NOTHING
        return self.wave if pending is NOTHING else self.wave.delayed(pending)

    def _apart(self, visit: Visit, service: Span) -> Array:
        """Say what part of the gaps remains where servers are shared: none of constant services."""
        if not self._shared(visit):
            return np.ones(1)
        return np.where(service.scv.real < 1, service.scv, 1)

    def _servers(self, visit: Visit) -> int:
        resource = self.made.model.resources.get(visit.queue)
        return resource.servers if isinstance(resource, Station) else 1
