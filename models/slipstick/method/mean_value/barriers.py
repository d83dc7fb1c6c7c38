"""Barriers: a cycle is cut into sections, each as long as the last of all processors takes through it.

After a barrier all processors start at once, so a section is not in steady state: their requests come to the first
queue together and leave it spread out. `synchronized_start` follows the processors through a section in the order in
which they pass each point: mean times of the first, second, ..., last of them and variances of the gaps between.

Assumptions: delays are independent; processors keep their order at a queue; a gap is a constant plus an exponential
time. Against an exact recursion (exponential delay, one queue) the error is below 1.2 %, against simulation below 3 %
in plain sections and 10 % where pipelines share servers (tests/method/mean_value/test_barriers.py;
construct "barriers" of benchmarks/mean_value.py). The sum over k of T(k)/k, T(k) from the steady state
with k processors, was tried instead: it is 2 to 34 % too long at scv 1 and more than 50 % at scv 0.25.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import NormalDist

import numpy as np

from slipstick.method.mean_value.maxima import (
    ZERO_TIME,
    Array,
    FittedDistribution,
    RandomTime,
    largest,
    left_over,
    maximum_of_identical,
    nonzero,
    repeated,
    sum_of,
)
from slipstick.method.mean_value.traversal import Traversal
from slipstick.method.mean_value.visits import Visit, VisitedHold, VisitedStep, visit_ratios, visits_in
from slipstick.model.activity import Activity, BarrierWait, Fork, Pipeline, Repeat, Then
from slipstick.model.system import Barrier, is_processor

MOST_FOLLOWED = 256
"""Larger populations are not followed one by one; their sections end with the maximum of independent times."""


def cycle_time(made: Traversal, root: Activity) -> RandomTime:
    """Give the time of a whole cycle; what comes after the last barrier is done with what comes before the first."""
    return _Sections(made).cycle(root)


@dataclass(frozen=True, slots=True)
class _CutPath:
    """A part of a cycle cut by barriers.

    Parameters
    ----------
    before : what comes before the first barrier
    sections : times of the sections between barriers
    after : what comes after the last barrier; None if there is no barrier
    barrier : the first barrier
    """

    before: tuple[Activity, ...]
    sections: tuple[RandomTime, ...] = ()
    after: tuple[Activity, ...] | None = None
    barrier: BarrierWait | None = None


class _Sections:
    """Evaluates a tree from barrier to barrier."""

    def __init__(self, made: Traversal) -> None:
        self.made = made
        self._number = 0

    def cycle(self, root: Activity) -> RandomTime:
        path = self._cut(root)
        if path.after is None:
            return self._own_time(path.before)
        assert path.barrier is not None
        around = self._section((*path.after, *path.before), path.barrier)
        return sum_of([*path.sections, around])

    def _own_time(self, nodes: tuple[Activity, ...]) -> RandomTime:
        return sum_of([self.made.time(node) for node in nodes])

    def _cut(self, node: Activity) -> _CutPath:
        match node:
            case BarrierWait():
                return _CutPath((), (), (), node)
            case Then(parts):
                made = _CutPath(())
                for part in parts:
                    made = self._joined(made, self._cut(part))
                return made
            case Repeat(count, body):
                inner = self._cut(body)
                return _CutPath((node,)) if inner.after is None else self._repeated(self.made.numbers[count], inner)
        return _CutPath((node,))

    def _repeated(self, count: Array, inner: _CutPath) -> _CutPath:
        assert inner.after is not None
        assert inner.barrier is not None
        more = np.where(count.real > 1, count - 1, 0 * count)
        between = repeated(more, self._section((*inner.after, *inner.before), inner.barrier))
        sections = (between, *(repeated(count, each) for each in inner.sections))
        return _CutPath(inner.before, sections, inner.after, inner.barrier)

    def _joined(self, a: _CutPath, b: _CutPath) -> _CutPath:
        if a.after is None:
            return _CutPath((*a.before, *b.before), b.sections, b.after, b.barrier)
        if b.after is None:
            return _CutPath(a.before, a.sections, (*a.after, *b.before), a.barrier)
        assert b.barrier is not None
        section = self._section((*a.after, *b.before), b.barrier)
        return _CutPath(a.before, (*a.sections, section, *b.sections), b.after, a.barrier)

    def _section(self, nodes: tuple[Activity, ...], wait: BarrierWait) -> RandomTime:
        """Give the time of a section that ends at a barrier: the mean time of the last arrival, and the barrier's cost."""
        number, made = self._number, self.made
        self._number += 1
        label = f"barrier:{wait.name}"
        barrier = made.model.resources[wait.name]
        assert isinstance(barrier, Barrier)
        cost = made.numbers[barrier.cost] * made.factor(label)
        own = self._own_time(nodes)
        if made.fixed is not None:
            waited = made.fixed.last_arrivals[number] - own.mean.real
            return RandomTime(own.mean + waited * made.factor(label) + cost, own.variance)
        last = self._last_arrival(nodes, own, wait)
        made.found.last_arrivals[number] = last.mean
        return RandomTime(last.mean + cost, last.variance, own.kind)

    def _last_arrival(self, nodes: tuple[Activity, ...], own: RandomTime, wait: BarrierWait) -> RandomTime:
        processors = self.made.processors
        if wait.parties is not None and wait.parties < processors:
            # Derived here: of p processors that meet in a steady stream of N / T arrivals a second, the i-th waits for
            # p - i more, (p - 1) / 2 on average: T = own + (p - 1) / 2 x T / N.
            part = (wait.parties - 1) / (2 * processors)
            return RandomTime(own.mean / (1 - part), own.variance)
        last = synchronized_start(self.made, nodes, processors)
        return last or maximum_of_identical(own, np.full(1, float(processors)))


def synchronized_start(made: Traversal, nodes: Sequence[Activity], processors: int) -> RandomTime | None:
    """Give the time until the last of all processors has gone through; None where nothing can be waited for.

    The waits found replace those of the steady state in what the traversal found.

    Parameters
    ----------
    made : a traversal of the nodes
    nodes : done one after the other
    processors : that start at once
    """
    if processors < 2 or processors > MOST_FOLLOWED or not is_contended(nodes):
        return None
    return _SynchronizedStart(made, processors).through(nodes)


def is_contended(nodes: Sequence[Activity]) -> bool:
    """Say whether processors can wait for each other at a queue in some parts of a tree."""
    return any(_queued(visit) for node in nodes for visit in visits_in(node))


def ordered_ends(time: RandomTime, processors: int) -> Array:
    """Give the mean times at which the first, second, ... of all processors end an independent time [s] [..., processors].

    More than `MOST_FOLLOWED` are placed at the quantiles (k - 3/8) / (N + 1/4) (Source: Blom, Statistical Estimates and
    Transformed Beta-Variables, Wiley 1958): the middle and the last one within 3 % of those that are followed, the first
    ones up to 14 % early (tests/method/mean_value/test_programs.py).
    """
    if processors <= MOST_FOLLOWED:
        return PassingTimes.together(processors).delayed(time).times
    places = (np.arange(1, processors + 1) - 0.375) / (processors + 0.25)
    scores = np.array([NormalDist().inv_cdf(each) for each in places])
    column = RandomTime(time.mean[..., None], time.variance[..., None])
    return FittedDistribution(column, np.ones(1)).quantile(scores)


def _queued(visit: Visit) -> bool:
    return not is_processor(visit.queue)


class _SynchronizedStart:
    """Follows all processors through a section; delays are added up until the next queue."""

    def __init__(self, made: Traversal, processors: int) -> None:
        self.made, self.waits = made, made.found.waits
        self.passing = PassingTimes.together(processors)
        self.pending = ZERO_TIME
        self.served_until: dict[str, Array] = {}
        """By queue, when the servers would have done all that was asked of them so far, once begun [s]."""

    def through(self, nodes: Sequence[Activity]) -> RandomTime:
        for node in nodes:
            self._pass(node)
        return self.passing.end(self.pending)

    def _pass(self, node: Activity) -> None:
        match node:
            case Then(parts):
                for part in parts:
                    self._pass(part)
            case VisitedStep(_, visit) | VisitedHold(visit, _) if visit is not None and _queued(visit):
                self._queue(visit, np.ones(1))
            case Repeat(count, VisitedStep(_, visit)) if visit is not None and _queued(visit):
                self._queue(visit, self.made.numbers[count])
            case _:
                self._composite(node)

    def _queue(self, visit: Visit, count: Array) -> None:
        """Pass a queue a number of times in a row; all processors take turns there."""
        service = repeated(count, self.made.found.services[visit.index])
        before = self._after_pending()
        kept = self._kept_gaps(visit, service) / np.where(count.real > 1, count, 1)
        left = self._left(visit.queue, before, service.mean)
        self.passing, wait = before.served(service, self.made.servers(visit.queue), kept, left)
        self._set_waits([visit], wait, count)

    def _left(self, queue: str, before: PassingTimes, work: Array) -> Array:
        """Give the work that the first processor finds left from earlier visits to the queue in the same section [s].

        Derived here: the first that comes back to a queue while others wait for their first visit comes after them. The
        queue is taken as busy from the first arrival on, so that the work of all visits adds up: within 3 % of simulation
        where 16 and 20 processors visit a queue three times (tests/method/mean_value/test_barriers.py).
        """
        first, count = before.times[..., 0], before.times.shape[-1]
        left: Array = self.served_until.get(queue, first) - first
        left = np.where(left.real > 0, left, 0 * left)
        self.served_until[queue] = first + left + count * work / self.made.servers(queue)
        return left

    def _composite(self, node: Activity) -> None:
        """Pass a fork, pipeline or other composite: wait for the work that others ask of each queue, then its own time.

        The stages of a pipeline and the branches of a fork work side by side, so their queues delay at the same time
        and the longest delay counts. The queues of anything else are passed one after the other. Derived here; checked
        by simulation in tests/method/mean_value/test_barriers.py (3 to 10 %).
        """
        visits = [visit for visit in visits_in(node) if _queued(visit)]
        alone = self.made.without_waits().time(node)
        ratios = visit_ratios(node, self.made.numbers)
        before, passed = self._after_pending(), list[PassingTimes]()
        for name in dict.fromkeys(visit.queue for visit in visits):
            here = [visit for visit in visits if visit.queue == name]
            after = self._through_queue(before, node, here, alone)
            wait: Array = (after.times - before.times).mean(axis=-1)
            self._set_waits(here, wait, sum((ratios[visit.index] for visit in here), np.zeros(1)))
            passed.append(after)
            if not isinstance(node, Pipeline | Fork):
                before = after
        self.passing = reduce(PassingTimes.or_later, passed, before)
        self.pending = alone

    def _through_queue(
        self, before: PassingTimes, node: Activity, here: Sequence[Visit], alone: RandomTime
    ) -> PassingTimes:
        """Wait at one queue inside a composite.

        A processor is through when its own work there is served, and not before its own time without waits is over.
        One that asks for several servers at once leaves that many fewer to the others and is through sooner.
        """
        servers, at_once = self.made.servers(here[0].queue), self._requests_at_once(node, here)
        work, lead, turns = self._work(node, here)
        lanes = max(1, servers // at_once)
        job = work.scaled(np.full(1, lanes / servers))
        done = before.queued(job, lanes, self._left(here[0].queue, before, work.mean))
        done = done.closed_up(before, work.mean / servers, 1 / turns)
        late = done.times + (lead + job.mean - alone.mean)[..., None]
        return PassingTimes(np.where(late.real > before.times.real, late, before.times), done.gaps)

    def _requests_at_once(self, node: Activity, here: Sequence[Visit]) -> int:
        """Count the requests of one processor that can be at a queue at once, in branches of a fork."""
        if not isinstance(node, Fork):
            return 1
        return sum(any(visit in here for visit in visits_in(branch)) for branch in node.branches)

    def _work(self, node: Activity, here: Sequence[Visit]) -> tuple[RandomTime, Array, Array]:
        """Give what a composite asks of a queue, its other time that cannot overlap with it, and the turns it takes."""
        numbers, services = self.made.numbers, self.made.found.services
        ratios = visit_ratios(node, numbers)
        work = sum_of([repeated(ratios[v.index], services[v.index]) for v in here if v.index in ratios])
        match node:
            case Repeat(count, body):
                return work, self._work(body, here)[1], np.where(numbers[count].real > 1, numbers[count], 1)
            case Pipeline(stages):
                items = numbers[node.items]
                once = sum_of([self.made.without_waits().time(stage.bodies[0]) for stage in stages])
                return work, once.mean - work.mean / items, items if self._in_turns(node, here) else np.ones(1)
            case Fork(branches):
                used = [branch for branch in branches if any(visit in here for visit in visits_in(branch))]
                return work, -largest([-self._work(branch, here)[1] for branch in used]), np.ones(1)
        return work, self.made.without_waits().time(node).mean - work.mean, np.ones(1)

    def _in_turns(self, pipeline: Pipeline, here: Sequence[Visit]) -> bool:
        """Say whether processors take turns at a queue, item by item.

        They do where one item waits for another, there or at an earlier queue. Items of a parallel stage join the
        queue together, so the processor that comes first is through with all its items first.
        """
        if self.made.shares_servers(here[0]):
            return True
        for stage in pipeline.stages:
            visits = [visit for body in stage.bodies for visit in visits_in(body) if _queued(visit)]
            if visits and stage.kind == "serial":
                return True
            if any(visit in here for visit in visits):
                return False
        return True

    def _set_waits(self, visits: Sequence[Visit], wait: Array, ratio: Array) -> None:
        for visit in visits:
            self.waits[visit.index] = RandomTime(wait / nonzero(ratio), 0 * wait)

    def _after_pending(self) -> PassingTimes:
        pending, self.pending = self.pending, ZERO_TIME
        return self.passing if pending is ZERO_TIME else self.passing.delayed(pending)

    def _kept_gaps(self, visit: Visit, service: RandomTime) -> Array:
        """Give the part of the gaps that remains: where servers are shared, constant services all end together."""
        if not self.made.shares_servers(visit):
            return np.ones(1)
        return np.where(service.scv.real < 1, service.scv, 1)


@dataclass(frozen=True, slots=True)
class PassingTimes:
    """When processors that started together pass a point, in their order.

    Parameters
    ----------
    times : mean time of the first, second, ... [s] [..., processors]
    gaps : variance of the time since the one before [s^2]
    """

    times: Array
    gaps: Array

    @classmethod
    def together(cls, count: int) -> PassingTimes:
        """Let all start at 0."""
        return cls(np.zeros((1, count)), np.zeros((1, count)))

    def delayed(self, time: RandomTime) -> PassingTimes:
        """Let each take an independent time more.

        Gaps between order statistics of a smooth distribution are nearly exponential, with variance gap^2 (Source:
        Pyke, Spacings, J. Royal Statistical Society B 27(3), 1965, 395-449); a gap g much wider than the spread v of
        the time keeps its variance. In between the weight g^2 / (g^2 + v) is chosen here, for its two limits.
        """
        shifted = PassingTimes(self.times + time.mean[..., None], self.gaps)
        varied = time.variance[..., None]
        if time.kind == "constant":
            return shifted
        times = _in_order(self, time)
        before, gap = _gaps(self.times), _gaps(times)
        kept = before * before / nonzero(before * before + varied)
        random = varied.real > 0
        gaps = np.where(random, (1 - kept) * gap * gap + kept * self.gaps, self.gaps)
        return PassingTimes(np.where(random, times, shifted.times), gaps)

    def queued(self, service: RandomTime, servers: int, left: Array) -> PassingTimes:
        """Let each wait for one of the servers, in order; the first finds some work `left` there [s].

        Exponential services of c servers end one by one, like those of one server c times as fast, of whose backlog the
        last c - 1 of c parts of a service cause no wait. Constant ones end c at a time: each waits for the processor c
        places before. Between the two the wait is interpolated by the scv (chosen here; exact in both limits).
        """
        wait = self._waits(service, 1, service.mean / servers, service.mean * (servers - 1) / servers, left)
        if servers > 1:
            constant = self._waits(service, servers, service.mean, 0 * service.mean, left)
            scv = np.where(service.scv.real < 1, service.scv, 1)[..., None]
            wait = scv * wait + (1 - scv) * constant
        busy = _waiting_probability(wait, service.mean / servers)
        gaps = busy * (service.variance / servers**2)[..., None] + (1 - busy) * self.gaps
        return PassingTimes(self.times + wait, gaps)

    def served(self, service: RandomTime, servers: int, kept: Array, left: Array) -> tuple[PassingTimes, Array]:
        """Let each wait and be served; `kept` is the part of the gaps that remains where services alternate.

        Also gives the mean wait.
        """
        waited = self.queued(service, servers, left).closed_up(self, service.mean / servers, kept)
        wait: Array = (waited.times - self.times).mean(axis=-1)
        if servers > 1:
            return waited.delayed(service), wait
        return PassingTimes(waited.times + service.mean[..., None], waited.gaps), wait

    def closed_up(self, before: PassingTimes, step: Array, kept: Array) -> PassingTimes:
        """Let processors that waited and took turns leave closer together, the last of them at the same time."""
        busy = _waiting_probability(self.times - before.times, step)
        gap = _gaps(self.times) * (1 - busy * (1 - kept[..., None]))
        behind = np.flip(np.cumsum(np.flip(gap, -1), axis=-1), -1) - gap
        return PassingTimes(self.times[..., -1:] - behind, self.gaps * kept[..., None])

    def or_later(self, other: PassingTimes) -> PassingTimes:
        """Take the later of two passings of each."""
        later = other.times.real > self.times.real
        return PassingTimes(np.where(later, other.times, self.times), np.where(later, other.gaps, self.gaps))

    def end(self, tail: RandomTime) -> RandomTime:
        """Give the time when the last has taken an independent time more."""
        last = self.times[..., -1] + tail.mean
        if tail.kind == "constant":
            return RandomTime(last, 0 * tail.mean)
        return RandomTime(np.where(tail.variance.real > 0, _in_order(self, tail)[..., -1], last), tail.variance)

    def _waits(self, service: RandomTime, apart: int, step: Array, floor: Array, left: Array) -> Array:
        """Follow the work left by those before, in mean and variance: V(k) = (V(k - apart) + step - gap)+.

        Source: Lindley, Proc. Cambridge Philosophical Society 48(2), 1952, 277-289.

        Parameters
        ----------
        apart : 1, or the number of servers whose customers are followed server by server
        step : work that each brings [s]
        floor : work that may be left without a wait [s]
        left : from earlier visits [s]
        """
        count = self.times.shape[-1]
        varied = service.variance * (step / nonzero(service.mean)) ** 2
        nothing = 0 * (step + self.times[..., 0])
        backlog = [(nothing + left, nothing)] * min(apart, count)
        for k in range(apart, count):
            mean, variance = backlog[k - apart]
            gap = self.times[..., k] - self.times[..., k - apart]
            gap = np.where(gap.real > 0, gap, 0 * gap)
            spread = self.gaps[..., k - apart + 1 : k + 1].sum(axis=-1)
            backlog.append(left_over(mean + step, variance + varied, gap, spread))
        over = [left_over(mean, variance, floor, 0 * floor)[0] for mean, variance in backlog]
        return np.stack(np.broadcast_arrays(*over), axis=-1)


def _gaps(times: Array) -> Array:
    gap = times - np.concatenate([times[..., :1], times[..., :-1]], axis=-1)
    forward: Array = np.where(gap.real > 0, gap, 0 * gap)
    return forward


def _waiting_probability(wait: Array, service: Array) -> Array:
    """Give the probability p of a wait from its mean as at an M/M/1 station, where W = p S / (1 - p)."""
    chance: Array = wait / nonzero(wait + service[..., None])
    return chance


def _in_order(passing: PassingTimes, time: RandomTime) -> Array:
    """Give the mean order statistics when each processor takes an independent time more.

    Derived here: the number that have passed by t is a sum of independent indicators, whose distribution is built up
    one by one; the k-th passes at the integral of P(fewer than k have passed). Against order statistics of gamma
    variates the error is below 0.6 % (tests/method/mean_value/test_barriers.py).
    """
    count = passing.times.shape[-1]
    varied = time.variance[..., None]
    # Where the starts are random too, the gap before each adds to the spread, at most as much as it has itself.
    varied = varied + passing.gaps * varied / nonzero(varied + passing.gaps)
    widest = largest([varied[..., k] for k in range(count)])
    nodes, weights, low = FittedDistribution(RandomTime(time.mean, widest), np.ones(1)).grid(passing.times)
    fits = [FittedDistribution(RandomTime(time.mean, varied[..., k]), np.ones(1)) for k in range(count)]
    passed = np.stack([fit.at(nodes - passing.times[..., k, None]) for k, fit in enumerate(fits)], axis=-1)
    beyond = np.cumsum(_count_distribution(passed), axis=-1)[..., :count]
    times: Array = low[..., None] + np.sum(weights[..., None] * beyond, axis=-2)
    return times


def _count_distribution(chances: Array) -> Array:
    """Give the distribution of a sum of independent indicators [..., 0..count]."""
    count = chances.shape[-1]
    found = np.zeros((*chances.shape[:-1], count + 1), dtype=chances.dtype)
    found[..., 0] = 1
    for k in range(count):
        p = chances[..., k, None]
        found[..., 1:] = found[..., 1:] * (1 - p) + found[..., :-1] * p
        found[..., :1] *= 1 - p
    return found
