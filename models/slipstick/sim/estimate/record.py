"""The record of one long run: its rows, thinned out so that they stay few, and the times of its cycles."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate.quantiles import Quantiles
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.streams import Array

__all__ = ["AnyKernel", "Record"]

MOST_ROWS = 1024


class AnyKernel(Protocol):
    """What both kernels offer; rows and responses are given once each."""

    @property
    def now(self) -> float: ...
    @property
    def events(self) -> int: ...
    def run(self, events: int) -> bool: ...
    def waits(self) -> list[Wait]: ...
    def take_rows(self) -> Array: ...
    def take_responses(self, group: int) -> Array: ...


class Record:
    """What one long run wrote; what a kernel wrote in advance waits until it is asked for.

    Parameters
    ----------
    plan : what is run

    Attributes
    ----------
    seen : rows added so far
    last : the last of them
    quantiles : of the cycle times, by class
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.layout = plan, Layout(plan)
        self.quantiles = tuple(Quantiles() for _ in plan.members)
        self.last = np.zeros(self.layout.width)
        self.seen = 0
        self._step = 1
        self._rows = np.zeros((1, self.layout.width))
        self._waiting = np.zeros((0, self.layout.width))
        self._times = [np.zeros(0) for _ in plan.members]

    @property
    def pending(self) -> int:
        """Rows that wait to be added."""
        return len(self._waiting)

    def take(self, kernel: AnyKernel) -> None:
        """Take what a kernel wrote."""
        self._waiting = np.concatenate([self._waiting, kernel.take_rows()])
        self._times = [np.concatenate([times, kernel.take_responses(group)]) for group, times in enumerate(self._times)]

    def add(self, rows: int, events: int) -> Array:
        """Add so many rows, if they are there, but none after the one with so many events; give the last."""
        beyond = np.flatnonzero(self._waiting[:rows, self.layout.order] >= events)
        count = int(beyond[0]) + 1 if len(beyond) else min(rows, len(self._waiting))
        added, self._waiting = self._waiting[:count], self._waiting[count:]
        first = (-self.seen - 1) % self._step
        self._rows = np.concatenate([self._rows, added[first :: self._step]])
        while len(self._rows) > MOST_ROWS:
            self._rows = self._rows[::2]
            self._step *= 2
        self._add_times(added[-1])
        self.seen += count
        self.last = added[-1]
        return self.last

    def _add_times(self, row: Array) -> None:
        """Let the quantiles have the times of the cycles up to a row."""
        for group, quantiles in enumerate(self.quantiles):
            count = int(row[self.layout.cycles[group]] - self.last[self.layout.cycles[group]])
            quantiles.add(self._times[group][:count])
            self._times[group] = self._times[group][count:]

    def sums(self) -> Array:
        """Give the sums over each stretch between two rows that are kept."""
        return np.diff(self._rows, axis=0)
