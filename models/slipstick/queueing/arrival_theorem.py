r"""Residence times from the mean queues that an arriving customer meets, which approximate methods iterate.

A customer of class r with service time S_r meets A_j others of class j at a station of c servers, B_j of them
being served (all mean numbers; A and B are their sums):

    sharing      W_r = S_r (1 + (A - B + P) / c)
    in turn      W_r = S_r + w / c,  w = sum of S_j (A_j - B_j) + P/B sum of B_j S_j (1 + scv_j) / 2
    priority     W_r = S_r + w / (c (1 - U)), waiting work only of ranks not above r's number, U of those below it
    preemptive   W_r = (S_r + w / c) / (1 - U), the residual work too only of ranks not above r's number
    rates        W_r = S_r (1 + A) / s(1 + A), s interpolated

P = P(all c servers busy) = (B/c)^(sqrt(2 (c + 1)) - 1), and 0 where fewer than c others exist. At a single server
P = B and sharing is the arrival theorem. "In turn" is first come first served, and every discipline with the same mean
waits (`Discipline.blind`).

Sources: Reiser, Performance Evaluation 1(1), 1979 (residual work); Sakasegawa, Ann. Inst. Stat. Math. 29, 1977
(P); Bryant, Krzesinski, Lakshmi and Chandy, ACM TOCS 2(4), 1984 (priorities).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from slipstick.queueing.network import Array, NetworkArrays
from slipstick.queueing.residual_wait import all_busy_by_load, residual_time
from slipstick.vocabulary import DISCIPLINES

Shift = tuple[Array, Array]
"""Of queues and of busy servers of class j when one of class r has left, both (P, R, R, K) by [r, j]."""

MOST_BUSY = 1 - 1e-9
"""Of a server before it counts as full while an iteration is still far off."""


@dataclass(frozen=True, eq=False)
class SeenOnArrival:
    """Mean numbers that an arriving customer finds, without itself.

    Parameters
    ----------
    queue, busy : of each class at each station, (P, R, K)
    own : the part of its class that an arriving customer is itself, 1/N, or 0 where the class is open, (P, R)
    queue_shift, busy_shift : by how much class j's numbers differ when one of class r has left, beyond that part,
        (P, R, R, K) by [r, j]; None for none
    """

    queue: Array
    busy: Array
    own: Array
    queue_shift: Array | None = None
    busy_shift: Array | None = None

    def waiting(self, weight: Array, station: int, rank: Array | None = None) -> Array:
        """Add up weight x queue of the classes j, as r meets them, (P, R); see `_seen`."""
        return self._seen(weight, self.queue, self.queue_shift, station, rank)

    def served(self, weight: Array, station: int, rank: Array | None = None) -> Array:
        """Add up weight x busy servers of the classes j, as r meets them, (P, R); see `_seen`."""
        return self._seen(weight, self.busy, self.busy_shift, station, rank)

    def _seen(self, weight: Array, numbers: Array, shift: Array | None, station: int, rank: Array | None) -> Array:
        """Leave the arriving customer out; `rank` (R, R) says how much j counts for r, 1 for all by default."""
        each = weight * numbers[:, :, station]
        if rank is None:
            total = each.sum(axis=1, keepdims=True) - self.own * each
        else:
            total = each @ rank.T - np.diagonal(rank) * self.own * each
        if shift is None:
            return np.asarray(total)
        change = shift[:, :, :, station] * weight[:, None]
        return np.asarray(total + (change if rank is None else change * rank).sum(axis=2))


def residence(network: NetworkArrays, met: SeenOnArrival, others: Array) -> Array:
    """Give the residence times in one cycle, all visits together [s], (P, R, K).

    Parameters
    ----------
    network : stations of any discipline
    met : what is present
    others : customers besides the arriving one, infinite with open classes, (P, R)
    """
    time = np.empty(met.queue.shape, dtype=np.result_type(met.queue, network.service, network.visits))
    for station, discipline in enumerate(network.discipline):
        service = network.service[:, :, station]
        if DISCIPLINES[discipline].delay:
            time[:, :, station] = service
        elif network.rates[station] is not None:
            time[:, :, station] = _by_rates(network, met, station)
        elif not network.without_product_form[station]:
            time[:, :, station] = _product_form_residence(network, met, others, station)
        else:
            time[:, :, station] = _waiting_in_line(network, met, others, station)
    time *= network.visits
    return time


def _product_form_residence(network: NetworkArrays, met: SeenOnArrival, others: Array, station: int) -> Array:
    servers, ones = network.servers[station], np.ones((1, len(network.classes)))
    present_others = met.waiting(ones, station)
    if servers > 1:
        busy = met.served(ones, station)
        present_others = (_not_negative(present_others - busy) + all_busy_by_load(busy, servers, others)) / servers
    shared: Array = network.service[:, :, station] * (1 + present_others)
    return shared


def _by_rates(network: NetworkArrays, met: SeenOnArrival, station: int) -> Array:
    rates = network.rates[station]
    assert rates is not None
    present = 1 + met.waiting(np.ones((1, len(network.classes))), station)
    last = rates.shape[1] - 1
    low = np.clip(np.floor(present.real).astype(int) - 1, 0, max(0, last - 1))
    part = np.where(present.real - 1 >= last, last - low, present - 1 - low)
    wide = np.broadcast_to(rates, (len(present), last + 1))
    near, far = (np.take_along_axis(wide, np.minimum(low + step, last), axis=1) for step in (0, 1))
    paced: Array = network.service[:, :, station] * present / (near + (far - near) * part)
    return paced


def _waiting_in_line(network: NetworkArrays, met: SeenOnArrival, others: Array, station: int) -> Array:
    service, servers = network.service[:, :, station], network.servers[station]
    rank, ahead, kind = network.priority[:, station], None, DISCIPLINES[network.discipline[station]]
    # Measured (benchmarks/approximations.py): Linearizer's corrections improve queues in the order of arrival, but
    # neither the work in service nor anything with priorities.
    met = replace(met, busy_shift=None)
    if kind.ranked:
        met = replace(met, queue_shift=None)
        ahead = (rank[None, :] <= rank[:, None]).astype(float)
    ones = np.ones_like(service)
    residual = residual_time(service, network.scv[:, :, station])
    waiting = _not_negative(met.waiting(service, station, ahead) - met.served(service, station, ahead))
    left = met.served(residual, station, ahead if kind.preemptive else None)
    if servers > 1:
        all_served = met.served(ones, station)
        some = np.where(all_served.real > 0, all_served, 1)
        left = left * np.where(all_served.real > 0, all_busy_by_load(all_served, servers, others) / some, 0)
    wait = (waiting + left) / servers
    if not kind.ranked:
        return np.asarray(service + wait)
    before = (rank[None, :] < rank[:, None]).astype(float)
    taken = met.served(ones, station, before) / servers
    free = 1 - np.where(taken.real < MOST_BUSY, taken, MOST_BUSY)
    first: Array = service / free if kind.preemptive else service
    return np.asarray(first + wait / free)


def _not_negative(number: Array) -> Array:
    """Hold a mean number at 0 while an iteration is still far off."""
    held: Array = np.where(number.real > 0, number, 0)
    return held


def approximations_of(network: NetworkArrays) -> tuple[str, ...]:
    """Name the approximations that `residence` makes at the stations of a network, with their sources.

    >>> from slipstick.queueing.network import network_arrays
    >>> approximations_of(network_arrays([1.0], population=3, servers=2))
    ('several servers: probability that all are busy by Sakasegawa (1977)',)
    """
    line = np.array([DISCIPLINES[each].queued for each in network.discipline], dtype=bool)
    ranked = np.array([DISCIPLINES[each].ranked for each in network.discipline], dtype=bool)
    speeds = np.array([each is not None for each in network.rates], dtype=bool) & ~network.delays
    uneven = np.array([bool(each) for each in network.without_product_form], dtype=bool)
    several = ~network.delays & ~speeds & (network.servers > 1)
    used = {
        "several servers: probability that all are busy by Sakasegawa (1977)": several,
        "first come first served: residual work by Reiser (1979)": line & uneven & ~speeds,
        "priorities: waiting work by rank after Bryant, Krzesinski, Lakshmi and Chandy (1984)": ranked & ~speeds,
        "rates: speed at the mean number that an arrival meets": speeds,
    }
    return tuple(text for text, where in used.items() if where.any())
