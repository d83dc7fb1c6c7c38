"""A wave: all processors set out at once and run through stations one after the other, as after a barrier.

The wave is known by the mean times at which the first, second, ... of them pass. A delay spreads it; at a
station each waits for those before him (Lindley's recursion, the gaps between arrivals random).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slipstick.method.mean_value.longest import Fitted, first_largest, normal
from slipstick.method.mean_value.spans import Array, Span

__all__ = ["MOST", "Wave"]

MIX = 1.0
MOST = 256
"""Larger populations than this are not followed one by one."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Mean times of passing, in order, and variances of the gaps between them [..., processors]."""

    times: Array
    gaps: Array  # variance of the time since the one before

    @classmethod
    def together(cls, count: int) -> Wave:
        return cls(np.zeros((1, count)), np.zeros((1, count)))

    def delayed(self, span: Span) -> Wave:
        """Let each take an independent time."""
        if np.all(span.variance == 0):
            return Wave(self.times + span.mean[..., None], self.gaps)
        old, v = _gaps(self.times), span.variance[..., None]
        times = _in_order(self.times, self.gaps, span)
        gap = _gaps(times)
        share = old * old / (old * old + v + 1e-300)
        return Wave(times, (1 - share) * gap * gap + share * self.gaps)

    def held_up(self, service: Span, servers: int) -> tuple[Wave, Array]:
        """Let each wait for one of the servers, in order; also gives the mean wait."""
        wait = self._waits(service, 1, service.mean / servers, service.mean * (servers - 1) / servers)
        if servers > 1:
            # Constant services end in batches, one for each server; exponential ones one by one.
            even = self._waits(service, servers, service.mean, 0 * service.mean)
            scv = (service.variance / (service.mean * service.mean + 1e-300))[..., None]
            scv = np.where(scv.real < 1, scv, 1)
            wait = scv * wait + (1 - scv) * even
        step = service.mean / servers
        busy = wait / (wait + step[..., None] + 1e-300)
        varied = service.variance / servers**2
        gaps = busy * varied[..., None] + (1 - busy) * self.gaps
        return Wave(self.times + wait, gaps), wait.mean(axis=-1)

    def closed_up(self, before: Wave, step: Array, left: Array) -> Wave:
        """Let those who waited leave closer together than they would one by one, the last at the same time."""
        wait = self.times - before.times
        busy = wait / (wait + step[..., None] + 1e-300)
        gap = _gaps(self.times) * (1 - busy * (1 - left[..., None]))
        behind = np.cumsum(gap[..., ::-1], axis=-1)[..., ::-1] - gap
        return Wave(self.times[..., -1:] - np.concatenate([behind[..., :-1] + 0 * gap[..., 1:], 0 * gap[..., :1]], axis=-1), self.gaps * left[..., None])

    def _waits(self, service: Span, apart: int, step: Array, floor: Array) -> Array:
        """Follow what is left of the work of those before, `apart` of whom are served side by side."""
        count = self.times.shape[-1]
        varied = service.variance * (step / (service.mean + 1e-300)) ** 2
        nothing = 0 * (step + self.times[..., 0])
        backlog, waits = [(nothing, nothing)] * min(apart, count), [nothing] * min(apart, count)
        for k in range(apart, count):
            before, spread = backlog[k - apart]
            gap = self.times[..., k] - self.times[..., k - apart]
            gap = np.where(gap.real > 0, gap, 0 * gap)
            spread_of_gap = sum(self.gaps[..., i] for i in range(k - apart + 1, k + 1))
            backlog.append(_left_over(before + step, spread + varied, gap, spread_of_gap))
            over = _left_over(*backlog[k], floor, 0 * floor)[0] if np.any(floor.real > 0) else backlog[k][0]
            waits.append(over)
        return np.stack(np.broadcast_arrays(*waits), axis=-1)

    def served(self, service: Span, servers: int, together: Array | None = None) -> tuple[Wave, Array]:
        """Let each be served; `together` says what part of the gaps is left where all are served in turns."""
        waiting, wait = self.held_up(service, servers)
        if together is not None:
            waiting = waiting.closed_up(self, service.mean / servers, together)
        if servers > 1:
            return waiting.delayed(service), wait
        return Wave(waiting.times + service.mean[..., None], waiting.gaps), wait

    def end(self, tail: Span) -> Span:
        """Give the time when the last has gone through an independent time more."""
        if np.all(tail.variance == 0):
            return Span(self.times[..., -1] + tail.mean, 0 * tail.mean)
        last = _in_order(self.times, self.gaps, tail)[..., -1]
        return Span(last, tail.variance)


def _gaps(times: Array) -> Array:
    gap = times - np.concatenate([times[..., :1], times[..., :-1]], axis=-1)
    return np.where(gap.real > 0, gap, 0 * gap)


def _left_over(mean: Array, variance: Array, gap: Array, gap_variance: Array) -> tuple[Array, Array]:
    """Give mean and variance of what is left of a time after a gap: the positive part of the difference.

    The gap is a constant and an exponential part; the time is like a gamma variate.
    """
    even = gap - np.sqrt(gap_variance + 1e-300)
    even = np.where(even.real > 0, even, 0 * even)
    random = gap - even
    mean, variance = _after_constant(mean, variance, even)
    # E exp(-Y / g) of a gamma variate Y.
    scv = variance / (mean * mean + 1e-300)
    power = 1 / (scv + 1e-9)
    ratio = mean / (random + 1e-300) / power
    transform = np.exp(-power * np.log(1 + ratio))
    transform = np.where(random.real > 1e-12 * mean.real, transform, 0)
    first = mean - random * (1 - transform)
    second = variance + mean * mean - 2 * random * mean + 2 * random * random * (1 - transform)
    first = np.where(first.real > 0, first, 0 * first)
    spread = second - first * first
    return first, np.where(spread.real > 0, spread, 0 * spread)


def _after_constant(mean: Array, variance: Array, gap: Array) -> tuple[Array, Array]:
    """The same for a constant gap, the time taken for normal (Clark 1961)."""
    theta = np.sqrt(variance + 1e-300)
    m = mean - gap
    alpha = m / theta
    alpha = np.where(alpha.real > 30, 30, np.where(alpha.real < -30, -30, alpha))
    below = normal(alpha)
    density = np.exp(-alpha * alpha / 2) / np.sqrt(2 * np.pi)
    first = m * below + theta * density
    second = (m * m + variance) * below + m * theta * density
    changed = gap.real > 0
    spread = second - first * first
    first, spread = (np.where(each.real > 0, each, 0 * each) for each in (first, spread))
    return np.where(changed, first, mean), np.where(changed, spread, variance)


def _in_order(times: Array, gaps: Array, span: Span) -> Array:
    """Give the mean order statistics of times that are each an independent variate more.

    How many have passed by t is a sum of independent chances: its distribution is built up one by one.
    """
    count = times.shape[-1]
    v = span.variance[..., None]
    v = v + MIX * gaps * v / (v + gaps + 1e-300)
    fit = Fitted(Span(span.mean, first_largest([v[..., k] for k in range(count)])), np.ones(1))
    nodes, weights, low = fit.grid(times)
    each = [Fitted(Span(span.mean, v[..., k]), np.ones(1)) for k in range(count)]
    passed = np.stack([each[k].at(nodes - times[..., k, None]) for k in range(count)], axis=-1)
    waiting = _fewer(passed)
    beyond = np.cumsum(waiting, axis=-1)[..., :count]  # P(fewer than k have passed), k = 1..count
    return low[..., None] + np.sum(weights[..., None] * beyond, axis=-2)


def _fewer(chances: Array) -> Array:
    """Give the distribution of a sum of independent indicators [..., 0..count]."""
    count = chances.shape[-1]
    shape = (*chances.shape[:-1], count + 1)
    found = np.zeros(shape, dtype=chances.dtype)
    found[..., 0] = 1
    for k in range(count):
        p = chances[..., k, None]
        moved = np.concatenate([np.zeros((*shape[:-1], 1)), found[..., :-1]], axis=-1)
        found = found * (1 - p) + moved * p
    return found
