r"""The fixed point of approximate mean-value analysis: two ways to it.

    W_rk = D_rk (1 + L_k - Q_rk / N_r + C_rk),   X_r = N_r / (Z_r + sum of W_rk),   Q_rk = X_r W_rk

with L_k the sum of the Q_rk, and C the correction of Linearizer, 0 in Bard-Schweitzer. At single servers it is a
system in the throughputs alone, which Newton's method solves in about ten steps, where substitution takes
hundreds when two stations are near saturation. Other stations go by substitution.
"""

from __future__ import annotations

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.queueing.network import Array, Network
from slipstick.queueing.waits import Met, Shift, residence

__all__ = ["NEWTON_RULE", "SUBSTITUTION_RULE", "newton", "substitute"]

NEWTON_RULE = "Newton's method until no throughput moves by more than 1e-11 of itself, derivatives included"
SUBSTITUTION_RULE = "substitution until no queue moves by more than 1e-11 of the customers, no derivative by 1e-7"
MOST_NEWTON, MOST_SUBSTITUTIONS, DAMPED_AFTER = 200, 20_000, 100


def newton(demand: Array, delay: Array, count: Array, change: Array | float) -> tuple[Array, Array, int]:
    """Solve for delays and single servers that are shared.

    With x = X_r D_rk, b = x / (1 + x / N_r) and a = sum of b: 1 + L = (1 + sum of b C) / (1 - a), and
    Q = b (1 + L + C) is a function of X; so is the population, which must come out as N.

    Parameters
    ----------
    demand : (P, R, K) [s]
    delay : (P, R) [s]
    count : customers (P, R)
    change : C (P, R, K)

    Returns
    -------
    throughput (P, R), residence (P, R, K) and the number of steps

    Raises
    ------
    NoAnswerError : the steps do not settle
    """
    alone = np.where(count > 0, 1 / np.maximum(count, 1), 0.0)[:, :, None]
    total = count.sum(axis=1, keepdims=True)
    cycle = delay + demand.sum(axis=2) * np.maximum(total, 1)
    flow = np.where(count > 0, count / np.where(cycle == 0, 1, cycle), 0.0)
    kind = np.result_type(demand, delay, change)
    flow, diagonal = flow.astype(kind), np.arange(count.shape[1])
    for step in range(1, MOST_NEWTON + 1):
        once = 1 / (1 + flow[:, :, None] * demand * alone)
        load = flow[:, :, None] * demand * once
        spare = 1 - load.sum(axis=1)
        crowd = (1 + (load * change).sum(axis=1)) / spare
        each = crowd[:, None] + change
        queue = load * each
        slope = demand * once * once
        # d Q_rk / d X_s = slope_rk each_rk [r = s] + load_rk slope_sk each_sk / (1 - a)
        steep = (load / spare[:, None]) @ (slope * each).transpose(0, 2, 1)
        steep[:, diagonal, diagonal] += delay + (slope * each).sum(axis=2) + (count == 0)
        missing = count - flow * delay - queue.sum(axis=2)
        move = np.where(count > 0, np.linalg.solve(steep, missing[:, :, None])[:, :, 0], 0)
        size = _kept_inside(flow, move, demand, alone, spare)
        flow = flow + size[:, None] * move
        if _settled(move, flow, 1e-11):
            return flow, _residence(flow, demand, alone, change), step
    raise NoAnswerError(f"Newton's method does not settle within {MOST_NEWTON} steps")


def _residence(flow: Array, demand: Array, alone: Array, change: Array | float) -> Array:
    once = 1 / (1 + flow[:, :, None] * demand * alone)
    load = flow[:, :, None] * demand * once
    crowd = (1 + (load * change).sum(axis=1)) / (1 - load.sum(axis=1))
    time: Array = demand * once * (crowd[:, None] + change)
    return time


def _kept_inside(flow: Array, move: Array, demand: Array, alone: Array, spare: Array) -> Array:
    """Give the largest part of a step, in halves, that keeps throughputs positive and stations unsaturated."""
    size = np.ones(len(flow))
    for _ in range(60):
        there = flow.real + size[:, None] * move.real
        x = there[:, :, None] * demand.real
        free = 1 - (x / (1 + x * alone)).sum(axis=1)
        inside = (there >= 0).all(axis=1) & (free > 0.05 * spare.real).all(axis=1)
        if inside.all():
            break
        size = np.where(inside, size, size / 2)
    return size


def _settled(move: Array, values: Array, within: float) -> bool:
    if (np.abs(move.real) > within * np.abs(values.real)).any():
        return False
    if not np.iscomplexobj(values):
        return True
    return bool(np.abs(move.imag).max(initial=0.0) <= 1e-9 * np.abs(values.imag).max(initial=0.0))


def substitute(network: Network, count: Array, shift: Shift | None, queue: Array) -> tuple[Array, Array, int]:
    """Solve for stations of any kind, open classes among them.

    Parameters
    ----------
    network : at the points of the other arrays
    count : customers of the closed classes (P, R)
    shift : by how much queue and busy servers of j differ when one of r has left, beyond its part
    queue : where to start (P, R, K)

    Returns
    -------
    throughput (P, R), residence (P, R, K) and the number of steps

    Raises
    ------
    NoAnswerError : the steps do not settle
    """
    closed, demand = network.closed, network.demand
    own = np.where(closed & (count > 0), 1 / np.maximum(count, 1), 0.0)
    others = count.sum(axis=1, keepdims=True) - (count > 0) if closed.all() else np.full(count.shape, np.inf)
    size = np.maximum(count.sum(axis=1), 1)[:, None, None]
    kind = np.result_type(queue, demand, network.think, network.arrivals, network.scv)
    queue, busy = queue.astype(kind), np.zeros(queue.shape, dtype=kind)
    for step in range(1, MOST_SUBSTITUTIONS + 1):
        time = residence(network, Met(queue, busy, own, *(shift or ())), others)
        cycle = network.think + time.sum(axis=2)
        flow = np.where(closed, count / np.where((count > 0) & closed, cycle, 1), network.arrivals)
        made, served = flow[:, :, None] * time, flow[:, :, None] * demand
        waits = _still(queue, made, 1e-11 * np.maximum(size, made.real))
        if step > 1 and waits and _still(busy, served, 1e-11 * np.maximum(1, served.real)):
            return flow, time, step
        queue, busy = made if step < DAMPED_AFTER else (queue + made) / 2, served
    raise NoAnswerError(
        f"the approximation does not settle within {MOST_SUBSTITUTIONS:,} steps; a station may be at its limit"
    )


def _still(before: Array, after: Array, within: Array) -> bool:
    """Tell whether numbers no longer move, nor their derivatives by more than 1e-7 of the largest."""
    move = after - before
    if (np.abs(move.real) > within).any():
        return False
    if not np.iscomplexobj(after):
        return True
    return bool(np.abs(move.imag).max(initial=0.0) <= 1e-7 * np.abs(after.imag).max(initial=0.0))
