"""What happens when all processors set out at once: a wave through the queues of a section.

A wave: all processors set out at once and come to queues one after the other, as after a barrier.

The wave is known by the mean times at which the first, second, ... of them pass, and by how random the gaps
between them are. A delay spreads it; at a queue each waits for what is left of the work of those before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from slipstick.method.mean_value.maxima import (
    NOTHING,
    Array,
    Fitted,
    Span,
    first_largest,
    normal,
    one_after_the_other,
    plus,
    rounds,
)
from slipstick.method.mean_value.traversal import Pass
from slipstick.method.mean_value.visits import (
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
from slipstick.model.resources import Station
from slipstick.model.system import is_processor

MOST = 256
"""Larger populations than this are not followed one by one."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Processors in the order in which they pass.

    Parameters
    ----------
    times : mean time of the first, second, ... [s] [..., processors]
    gaps : variance of the time since the one before [s^2]
    """

    times: Array
    gaps: Array

    @classmethod
    def together(cls, count: int) -> Wave:
        """Let all set out at 0."""
        return cls(np.zeros((1, count)), np.zeros((1, count)))

    def delayed(self, span: Span) -> Wave:
        """Let each take an independent time."""
        sure = Wave(self.times + span.mean[..., None], self.gaps)
        varied = span.variance[..., None]
        if span.kind == "constant":
            return sure
        times = _in_order(self, span)
        before, gap = _gaps(self.times), _gaps(times)
        # Order statistics of a smooth distribution have nearly exponential gaps; a wide gap keeps what it was.
        kept = before * before / plus(before * before + varied)
        random = varied.real > 0
        gaps = np.where(random, (1 - kept) * gap * gap + kept * self.gaps, self.gaps)
        return Wave(np.where(random, times, sure.times), gaps)

    def held_up(self, service: Span, servers: int) -> Wave:
        """Let each wait for one of the servers, in order."""
        wait = self._waits(service, 1, service.mean / servers, service.mean * (servers - 1) / servers)
        if servers > 1:
            # Constant services end in batches, one for each server; exponential ones one by one.
            even = self._waits(service, servers, service.mean, 0 * service.mean)
            scv = np.where(service.scv.real < 1, service.scv, 1)[..., None]
            wait = scv * wait + (1 - scv) * even
        busy = _busy(wait, service.mean / servers)
        gaps = busy * (service.variance / servers**2)[..., None] + (1 - busy) * self.gaps
        return Wave(self.times + wait, gaps)

    def served(self, service: Span, servers: int, left: Array) -> tuple[Wave, Array]:
        """Let each wait and be served; `left` of the gaps is left where they are served in turns.

        Also gives the mean wait.
        """
        waited = self.held_up(service, servers).closed_up(self, service.mean / servers, left)
        wait: Array = (waited.times - self.times).mean(axis=-1)
        if servers > 1:
            return waited.delayed(service), wait
        return Wave(waited.times + service.mean[..., None], waited.gaps), wait

    def closed_up(self, before: Wave, step: Array, left: Array) -> Wave:
        """Let those who waited leave closer together than one by one, the last at the same time."""
        busy = _busy(self.times - before.times, step)
        gap = _gaps(self.times) * (1 - busy * (1 - left[..., None]))
        behind = np.flip(np.cumsum(np.flip(gap, -1), axis=-1), -1) - gap
        return Wave(self.times[..., -1:] - behind, self.gaps * left[..., None])

    def or_later(self, other: Wave) -> Wave:
        """Let each pass when the later of two waves does."""
        later = other.times.real > self.times.real
        return Wave(np.where(later, other.times, self.times), np.where(later, other.gaps, self.gaps))

    def end(self, tail: Span) -> Span:
        """Give the time when the last has gone through an independent time more."""
        last = self.times[..., -1] + tail.mean
        if tail.kind == "constant":
            return Span(last, 0 * tail.mean)
        return Span(np.where(tail.variance.real > 0, _in_order(self, tail)[..., -1], last), tail.variance)

    def _waits(self, service: Span, apart: int, step: Array, floor: Array) -> Array:
        """Follow what is left of the work of those before (Lindley), `apart` of whom are served side by side.

        Parameters
        ----------
        step : work that each brings [s]
        floor : work that may be left without making anybody wait [s]
        """
        count = self.times.shape[-1]
        varied = service.variance * (step / plus(service.mean)) ** 2
        nothing = 0 * (step + self.times[..., 0])
        backlog = [(nothing, nothing)] * min(apart, count)
        for k in range(apart, count):
            mean, variance = backlog[k - apart]
            gap = self.times[..., k] - self.times[..., k - apart]
            gap = np.where(gap.real > 0, gap, 0 * gap)
            spread = self.gaps[..., k - apart + 1 : k + 1].sum(axis=-1)
            backlog.append(_left_over(mean + step, variance + varied, gap, spread))
        over = [_left_over(mean, variance, floor, 0 * floor)[0] for mean, variance in backlog]
        return np.stack(np.broadcast_arrays(*over), axis=-1)


def _gaps(times: Array) -> Array:
    gap = times - np.concatenate([times[..., :1], times[..., :-1]], axis=-1)
    forward: Array = np.where(gap.real > 0, gap, 0 * gap)
    return forward


def _busy(wait: Array, step: Array) -> Array:
    """Guess the chance of a wait from its mean, as of an exponential backlog."""
    chance: Array = wait / plus(wait + step[..., None])
    return chance


def _left_over(mean: Array, variance: Array, gap: Array, gap_variance: Array) -> tuple[Array, Array]:
    """Give mean and variance of what is left of a time after a gap: the positive part of the difference.

    The gap is a constant and an exponential part g, the time like a gamma variate Y:
    E (Y - g)+ = E Y - g (1 - E exp(-Y / g)).
    """
    even = gap - np.sqrt(plus(gap_variance))
    even = np.where(even.real > 0, even, 0 * even)
    g = gap - even
    mean, variance = _after_constant(mean, variance, even)
    power = 1 / (variance / plus(mean * mean) + 1e-9)
    over = np.exp(-power * np.log(1 + mean / plus(g) / power))
    over = np.where(g.real > 1e-12 * mean.real, over, 0)
    first = mean - g * (1 - over)
    first = np.where(first.real > 0, first, 0 * first)
    spread = variance + mean * mean - 2 * g * mean + 2 * g * g * (1 - over) - first * first
    return first, np.where(spread.real > 0, spread, 0 * spread)


def _after_constant(mean: Array, variance: Array, gap: Array) -> tuple[Array, Array]:
    """The same for a constant gap, the time taken for normal, and for what it is where there is no gap."""
    first, square = _above(mean, variance, gap)
    at_once, its_square = _above(mean, variance, 0 * gap)
    fades = np.exp(-gap / plus(mean))
    first = first - (at_once - mean) * fades
    spread = square - (its_square - mean * mean - variance) * fades - first * first
    first, spread = (np.where(each.real > 0, each, 0 * each) for each in (first, spread))
    changed = gap.real > 1e-12 * mean.real
    return np.where(changed, first, mean), np.where(changed, spread, variance)


def _above(mean: Array, variance: Array, level: Array) -> tuple[Array, Array]:
    """Give mean and mean square of a normal time's part above a level."""
    over = mean - level
    scale = (mean + level) * (mean + level) * 1e-18
    sure = variance.real <= scale.real
    theta = np.sqrt(plus(np.where(sure, scale, variance)))
    alpha = over / theta
    alpha = np.where(alpha.real > 30, 30, np.where(alpha.real < -30, -30, alpha))
    below, density = normal(alpha), np.exp(-alpha * alpha / 2) / np.sqrt(2 * np.pi)
    positive = np.where(over.real > 0, over, 0)
    first = np.where(sure, positive, over * below + theta * density)
    square = np.where(sure, positive * positive, (over * over + variance) * below + over * theta * density)
    return first, square


def _in_order(wave: Wave, span: Span) -> Array:
    """Give the mean order statistics when each takes an independent time more.

    How many have passed by t is a sum of independent chances: its distribution is built up one by one.
    """
    count = wave.times.shape[-1]
    varied = span.variance[..., None]
    # Where the starts are random too, the gap before each adds to the spread.
    varied = varied + wave.gaps * varied / plus(varied + wave.gaps)
    widest = first_largest([varied[..., k] for k in range(count)])
    nodes, weights, low = Fitted(Span(span.mean, widest), np.ones(1)).grid(wave.times)
    fits = [Fitted(Span(span.mean, varied[..., k]), np.ones(1)) for k in range(count)]
    passed = np.stack([fit.at(nodes - wave.times[..., k, None]) for k, fit in enumerate(fits)], axis=-1)
    beyond = np.cumsum(_how_many(passed), axis=-1)[..., :count]
    times: Array = low[..., None] + np.sum(weights[..., None] * beyond, axis=-2)
    return times


def _how_many(chances: Array) -> Array:
    """Give the distribution of a sum of independent indicators [..., 0..count]."""
    count = chances.shape[-1]
    found = np.zeros((*chances.shape[:-1], count + 1), dtype=chances.dtype)
    found[..., 0] = 1
    for k in range(count):
        p = chances[..., k, None]
        found[..., 1:] = found[..., 1:] * (1 - p) + found[..., :-1] * p
        found[..., :1] *= 1 - p
    return found


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
