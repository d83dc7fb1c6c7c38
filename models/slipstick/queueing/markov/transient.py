"""Where a chain is at a time, by uniformization, with a bound on the error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.markov.chain import Array, Chain

__all__ = ["MOST_STEPS", "Transient", "transient"]

MOST_STEPS = 1_000_000
"""Steps of the uniform clock at most, in all."""


@dataclass(frozen=True, slots=True, eq=False)
class Transient:
    """A chain at some times.

    Parameters
    ----------
    times : [s] [times]
    probabilities : of each state at each time [1] [times, states]
    spent : mean time in each state from 0 to each time [s] [times, states]
    error : what the probabilities of one time may be off in all [1]
    """

    times: NDArray[np.float64]
    probabilities: Array
    spent: Array
    error: float


def transient(chain: Chain, times: Sequence[float], error: float = 1e-10) -> Transient:
    """Give the probability of each state at some times, and the time spent in each until then.

    A clock ticks at rate L, at least as fast as any state is left; P = I + Q / L::

        p(t)              = sum_k Poisson(k; L t) p(0) P^k
        integral of p     = sum_k Prob(more than k ticks) p(0) P^k / L

    The sums are cut where the Poisson weights left out are below the error asked for; the weights that are kept add
    up to 1, so the error of p(t), summed over the states, is at most twice what is left out.

    Parameters
    ----------
    chain : the chain; it starts at `chain.start`
    times : at which to look, in any order [s]
    error : bound on the error of p at each time, summed over the states [1]

    Raises
    ------
    ModelError : a time is negative or not finite, or the error not between 0 and 1
    NoAnswerError : so many ticks are needed that the sums would take too long

    Source: Jensen, Skandinavisk Aktuarietidskrift 36, 1953, 87-91; Fox and Glynn, Communications of the ACM 31(4), 1988,
    440-445 (weights from the mode outwards).

    >>> from slipstick.queueing.markov.chain import build
    >>> chain = build("up", {"up": [("down", 1.0)], "down": [("up", 9.0)]}.__getitem__)
    >>> transient(chain, [0.0, 0.1]).probabilities
    array([[1.    , 0.    ],
           [0.9368, 0.0632]])
    """
    at = np.asarray(times, dtype=np.float64)
    if not ((at >= 0) & (at < math.inf)).all():
        raise ModelError(f"times must be finite and at least 0 s, got {list(times)}")
    if not 0 < error < 1:
        raise ModelError(f"the error of a transient answer must lie between 0 and 1, got {error}")
    generator = chain.generator()
    rate = float(-generator.diagonal().real.min())
    _check_steps(rate * float(at.max(initial=0.0)))
    step = csr_array(generator.T)
    now: Array = chain.start.astype(step.dtype)
    spent: Array = np.zeros_like(now)
    clock, found = 0.0, {}
    share = error / max(1, len(at))
    for time in np.unique(at):
        now, during = _onward(step, rate, now, float(time) - clock, share)
        spent = spent + during
        clock = float(time)
        found[clock] = now, spent
    pairs = [found[float(time)] for time in at]
    return Transient(at, np.array([p for p, _ in pairs]), np.array([s for _, s in pairs]), error)


def _check_steps(ticks: float) -> None:
    if ticks > MOST_STEPS:
        raise NoAnswerError(
            f"the chain's clock ticks {ticks:.3g} times until the last time asked for, and {MOST_STEPS:,} are the most "
            "that is tried; ask for an earlier time or for the long run"
        )


def _onward(step: csr_array, rate: float, start: Array, time: float, error: float) -> tuple[Array, Array]:
    """Go on for a time; also give the time spent in each state meanwhile."""
    if rate * time == 0:
        return start, start * time
    first, weights = _poisson(rate * time, error / 2)
    later = 1.0 - np.cumsum(weights)
    at, now, during = start, np.zeros_like(start), np.zeros_like(start)
    for k in range(first + len(weights)):
        if k >= first:
            now = now + weights[k - first] * at
            during = during + max(later[k - first], 0.0) * at
        else:
            during = during + at
        at = at + step @ at / rate
    return now, during / rate


def _poisson(mean: float, error: float) -> tuple[int, NDArray[np.float64]]:
    """Give the first number of ticks that counts, and the weights from there, which add up to 1.

    Weights fall at least geometrically on both sides of the mode, which bounds what is left out.
    """
    mode = int(mean)
    right, weight = [1.0], 1.0
    while True:
        k = mode + len(right)
        weight *= mean / k
        right.append(weight)
        ratio = mean / (k + 1)
        if ratio < 1 and weight * ratio / (1 - ratio) <= error / 2 * sum_of_weights(mean):
            break
    left, weight = [], 1.0
    for k in range(mode, 0, -1):
        ratio = k / mean
        weight *= ratio
        if ratio < 1 and weight / (1 - ratio) <= error / 2 * sum_of_weights(mean):
            break
        left.append(weight)
    weights = np.array([*reversed(left), *right])
    return mode - len(left), weights / weights.sum()


def sum_of_weights(mean: float) -> float:
    """Bound from below the sum of Poisson weights, as multiples of the largest.

    The largest weight is at most 1, and at most 1 / sqrt(2 pi mode) by Stirling's formula with mode + 1/12 left out.
    """
    return max(1.0, math.sqrt(2 * math.pi * max(1.0, math.floor(mean))) * 0.9)
