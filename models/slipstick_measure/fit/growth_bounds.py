"""Bounds of throughput beyond the measured numbers of customers, without a fitted law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from slipstick.late import Array, np
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.posterior import ASSUMED_NOISE

LEAST_NUMBERS = 3
"""Numbers of customers that must be measured."""


@dataclass(frozen=True, slots=True)
class GrowthBounds:
    r"""Bounds of the throughput of one machine beyond the largest measured number of customers.

    ::

        r = X(b) / X(a)                                       a, b: the two largest numbers
        above:  X(p) <= X(b) (1 + (p - b) / (b - a) (1 - 1 / r)),  between X(b) and X(b) p / b
        below:  X(p) >= X(b) min(1, (p / b) (1 + k b (b - 1)) / (1 + k p (p - 1)))
                k = (b / a - r) / (r b (b - 1) - (b / a) a (a - 1))

    Above, the assumption is that throughput is concave in the number of customers: it follows at
    most the line through the last two rows, and does not rise if these fall. Below, the assumption
    is that throughput is saturated already, or falls by a cost for each pair of customers, and that
    this cost explains all growth that is missing between the last two rows (`usl` without
    contention). The noise of these two rows widens both ends, by derivatives.

    The assumptions are true of closed networks with product form, and of machines where pairs of
    customers cost. They are false if a new limit begins beyond the rows, such as a full memory.
    Measured by ``benchmarks/fit_coverage.py`` (143 of 149 intervals of 90 % held) and
    ``benchmarks/validation.py``.

    Source: Shanthikumar, Yao, Math. Oper. Res. 13(3), 1988 (concave); Gunther, Guerrilla Capacity
    Planning, 2007 (pairs).

    Parameters
    ----------
    before, last : a, b
    slower, faster : X(a), X(b) [1/s]
    noise : standard deviation of their logarithms [1]
    """

    before: float
    last: float
    slower: float
    faster: float
    noise: float

    def times(self, p: float, level: float) -> tuple[float, float] | None:
        """Return the interval of the time of a cycle with `p` customers, p / X(p) [s]; None if the
        rows fall so fast that pairs explain no such loss.

        Parameters
        ----------
        p : customers, more than the largest measured number
        level : part of errors that lie inside [1]
        """
        from scipy.special import ndtri

        logs: Array = np.log([self.slower, self.faster])
        tail = float(ndtri((1 + level) / 2)) * self.noise
        ends: list[float] = []
        for bound, sign in ((self._highest, -1.0), (self._lowest, 1.0)):
            middle = bound(logs, p)
            slopes = _slopes(bound, logs, p)
            if not np.isfinite([middle, *slopes]).all():
                return None
            ends.append(p * float(np.exp(-middle + sign * tail * math.hypot(*slopes))))
        return ends[0], ends[1]

    def _highest(self, logs: Array, p: float) -> float:
        """Return the logarithm of the largest throughput."""
        growth = float(np.exp(logs[1] - logs[0]))
        line = 1 + (p - self.last) / (self.last - self.before) * (1 - 1 / growth)
        return float(logs[1] + np.log(max(1.0, min(line, p / self.last))))

    def _lowest(self, logs: Array, p: float) -> float:
        """Return the logarithm of the least throughput."""
        growth = float(np.exp(logs[1] - logs[0]))
        linear = self.last / self.before
        pairs_before, pairs_last, pairs = (
            number * (number - 1) for number in (self.before, self.last, p)
        )
        curvature = growth * pairs_last - linear * pairs_before
        if curvature <= 0:
            return np.nan
        cost = max(0.0, (linear - growth) / curvature)
        falling = p / self.last * (1 + cost * pairs_last) / (1 + cost * pairs)
        return float(logs[1] + np.log(min(1.0, falling)))


def _slopes(bound: Callable[[Array, float], float], logs: Array, p: float) -> list[float]:
    """Return the derivatives of a bound by each logarithm."""
    step = 1e-4
    shifts = step * np.eye(2)
    return [(bound(logs + shift, p) - bound(logs - shift, p)) / (2 * step) for shift in shifts]


def growth_bounds(timings: Timings, noise: float) -> GrowthBounds | None:
    """Return the bounds that rows of customers of one machine give; None for other rows: of one
    work that all share, of several sizes, without a number of servers, or too few.

    Parameters
    ----------
    timings : what was measured
    noise : standard deviation of the logarithms of repetitions; 0 where there are none [1]

    >>> p = np.array([4.0, 8.0, 16.0])
    >>> rows = Timings(p, np.ones(3), p / np.array([40.0, 70.0, 100.0]), True, servers=16)
    >>> low, high = growth_bounds(rows, 1e-9).times(32.0, 0.9)
    >>> round(32 / high, 1), round(32 / low, 1)
    (92.3, 160.0)
    """
    numbers = timings.processors
    if not timings.weak_scaling or timings.servers is None or timings.has_sizes:
        return None
    if len(numbers) < LEAST_NUMBERS:
        return None
    before, last = numbers[-2:].tolist()
    logs = [
        float(np.log(number / timings.time[timings.p == number]).mean())
        for number in (before, last)
    ]
    slower, faster = np.exp(logs).tolist()
    return GrowthBounds(before, last, slower, faster, noise or ASSUMED_NOISE)
