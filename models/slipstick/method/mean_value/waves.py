"""A wave: all processors set out at once and come to queues one after the other, as after a barrier.

The wave is known by the mean times at which the first, second, ... of them pass, and by how random the gaps
between them are. A delay spreads it; at a queue each waits for what is left of the work of those before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slipstick.method.mean_value.longest import Fitted, first_largest, normal
from slipstick.method.mean_value.spans import Array, Span, plus

__all__ = ["MOST", "Wave"]

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
