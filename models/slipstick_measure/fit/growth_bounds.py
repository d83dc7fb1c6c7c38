"""Bounds of throughput beyond the measured numbers of customers or processors, without a law."""

from __future__ import annotations

import math
from collections.abc import Callable

from slipstick.late import Array, dataclass, np
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.posterior import ASSUMED_NOISE

LEAST_NUMBERS = 3
"""Numbers of customers or processors that must be measured."""

LARGEST_ELASTICITY_POWER, LARGEST_ELASTICITY = 2.0, 3.0
"""Largest power of p with which the elasticity of losses is taken to grow, that of a cost of pairs,
and the largest elasticity, that of a saturated station whose service grows with pairs."""

NOISE_FACTOR_OF_CLOSE_ROWS = 2.0
"""Factor of the noise of the last three rows, where a growth of losses is read from them alone.
Chosen on 400 truths of a lock with costs of pairs; with 1, 1.5, 2 and 3 the longest time held 97.3,
97.8, 97.8 and 98.3 % at twice the rows, and 99.3 % without the last three; judged with the fresh
ones of ``benchmarks/fit_coverage.py``."""


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
    count_before, last_count : a, b
    throughput_before, last_throughput : X(a), X(b) [1/s]
    noise : standard deviation of their logarithms [1]
    """

    count_before: float
    last_count: float
    throughput_before: float
    last_throughput: float
    noise: float

    def time_interval(self, p: float, confidence_level: float) -> tuple[float, float] | None:
        """Return the interval of the time of a cycle with `p` customers, p / X(p) [s]. Return None
        if the throughput falls between the two rows faster than losses by pairs of customers can
        explain.

        Parameters
        ----------
        p : customers, more than the largest measured number
        confidence_level : part of errors that lie inside [1]
        """
        from scipy.special import ndtri

        log_throughputs: Array = np.log([self.throughput_before, self.last_throughput])
        tail_in_logarithms = float(ndtri((1 + confidence_level) / 2)) * self.noise
        interval_ends: list[float] = []
        for compute_bound, sign in (
            (self._log_highest_throughput, -1.0),
            (self._log_lowest_throughput, 1.0),
        ):
            log_throughput = compute_bound(log_throughputs, p)
            slopes = _slopes_of_bound(compute_bound, log_throughputs, p)
            if not np.isfinite([log_throughput, *slopes]).all():
                return None
            interval_ends.append(
                p * float(np.exp(-log_throughput + sign * tail_in_logarithms * math.hypot(*slopes)))
            )
        return interval_ends[0], interval_ends[1]

    def _log_highest_throughput(self, log_throughputs: Array, p: float) -> float:
        """Return the logarithm of the upper bound of the throughput with `p` customers, from the
        logarithms of the throughputs of the last two rows.
        """
        throughput_ratio = float(np.exp(log_throughputs[1] - log_throughputs[0]))
        line_ratio = 1 + (p - self.last_count) / (self.last_count - self.count_before) * (
            1 - 1 / throughput_ratio
        )
        return float(log_throughputs[1] + np.log(max(1.0, min(line_ratio, p / self.last_count))))

    def _log_lowest_throughput(self, log_throughputs: Array, p: float) -> float:
        """Return the logarithm of the lower bound of the throughput with `p` customers, from the
        logarithms of the throughputs of the last two rows.
        """
        throughput_ratio = float(np.exp(log_throughputs[1] - log_throughputs[0]))
        customer_ratio = self.last_count / self.count_before
        pairs_before, pairs_last, pairs = (
            processors * (processors - 1) for processors in (self.count_before, self.last_count, p)
        )
        curvature = throughput_ratio * pairs_last - customer_ratio * pairs_before
        if curvature <= 0:
            return np.nan
        cost = max(0.0, (customer_ratio - throughput_ratio) / curvature)
        falling_ratio = p / self.last_count * (1 + cost * pairs_last) / (1 + cost * pairs)
        return float(log_throughputs[1] + np.log(min(1.0, falling_ratio)))


def _slopes_of_bound(
    compute_bound: Callable[[Array, float], float], log_values: Array, p: float
) -> list[float]:
    """Return the derivatives of a bound at `p` by the logarithm of each row, by differences."""
    step = 1e-4
    shifts = step * np.eye(len(log_values))
    return [
        (compute_bound(log_values + shift, p) - compute_bound(log_values - shift, p)) / (2 * step)
        for shift in shifts
    ]


def growth_bounds(timings: Timings, noise: float) -> GrowthBounds | None:
    """Return the bounds of throughput beyond the last rows of one machine. Return None if the rows
    share one work, have several sizes, or are too few.

    Parameters
    ----------
    timings : what was measured
    noise : standard deviation of the logarithms of repetitions; 0 where there are none [1]

    >>> p = np.array([4.0, 8.0, 16.0])
    >>> rows = Timings(p, np.ones(3), p / np.array([40.0, 70.0, 100.0]), True, servers=16)
    >>> low, high = growth_bounds(rows, 1e-9).time_interval(32.0, 0.9)
    >>> round(32 / high, 1), round(32 / low, 1)
    (92.3, 160.0)
    """
    processor_counts = timings.processors
    if not timings.weak_scaling or timings.has_sizes:
        return None
    if len(processor_counts) < LEAST_NUMBERS:
        return None
    count_before, last_count = processor_counts[-2:].tolist()
    log_throughputs = [
        float(np.log(processor_count / timings.time[timings.p == processor_count]).mean())
        for processor_count in (count_before, last_count)
    ]
    throughput_before, last_throughput = np.exp(log_throughputs).tolist()
    return GrowthBounds(
        count_before, last_count, throughput_before, last_throughput, noise or ASSUMED_NOISE
    )


@dataclass(frozen=True, slots=True)
class LossGrowth:
    r"""The longest time beyond the largest of three measured numbers of processors, if losses go on
    growing.

    ::

        W(p): processor seconds of one work;   c, a, b: the numbers, ascending
        ln W(p) <= ln W(b) + int max(1, min(3, e(x))) d ln x,   from b to p
        e(x) = e(a, b) (x / sqrt(a b))^s
        s    = ln(e(a, b) / e(c, a)) / ln sqrt(b / c),   between 0 and 2
        e(u, v) = ln(W(v) / W(u)) / ln(v / u)

    The elasticity e is 0 if throughput rises in proportion, 1 if it is saturated, 2 if pairs of
    processors cost, 3 at a saturated station whose service grows with pairs. So throughput is taken
    to rise no further, or to fall because the elasticity goes on growing as it did between the
    three rows. The noise of the rows adds to it, by derivatives. That growth goes on is assumed: no
    row shows a loss that begins beyond the rows, such as a full memory. Measured by
    ``benchmarks/fit_coverage.py``.

    Source: costs of pairs as Gunther, Guerrilla Capacity Planning, 2007; the rest is own.

    Parameters
    ----------
    processor_counts : c, a and b
    processor_seconds : W(c), W(a) and W(b) [s]
    log_deviations : standard deviations of their logarithms [1]
    has_own_work : whether each processor has a work of its own; else all share one
    """

    processor_counts: tuple[float, ...]
    processor_seconds: tuple[float, ...]
    log_deviations: tuple[float, ...]
    has_own_work: bool

    def longest_time(self, p: float, confidence_level: float) -> float:
        """Return the upper end of the interval of the time on `p` processors [s].

        Parameters
        ----------
        p : processors, at least the largest measured number
        confidence_level : part of errors that lie inside [1]
        """
        from scipy.special import ndtri

        log_works: Array = np.log(self.processor_seconds)
        slopes = np.array(_slopes_of_bound(self._log_most_work, log_works, p))
        deviation = math.hypot(*(slopes * self.log_deviations).tolist())
        most_processor_seconds = math.exp(
            self._log_most_work(log_works, p) + float(ndtri((1 + confidence_level) / 2)) * deviation
        )
        return most_processor_seconds if self.has_own_work else most_processor_seconds / p

    def _log_most_work(self, log_works: Array, p: float) -> float:
        """Return the logarithm of the largest processor seconds on `p` processors, from the
        logarithms of the processor seconds of the three rows.
        """
        log_p_first, log_p_middle, log_p_last = np.log(self.processor_counts).tolist()
        earlier_slope = float(log_works[1] - log_works[0]) / (log_p_middle - log_p_first)
        later_slope = max(1e-300, float(log_works[2] - log_works[1]) / (log_p_last - log_p_middle))
        half_distance = (log_p_last - log_p_first) / 2
        steepness = LARGEST_ELASTICITY_POWER
        if earlier_slope > later_slope * math.exp(-LARGEST_ELASTICITY_POWER * half_distance):
            steepness = max(0.0, math.log(later_slope / earlier_slope) / half_distance)
        log_counts = np.linspace(log_p_last, math.log(p), 65)
        elasticities = later_slope * np.exp(
            steepness * (log_counts - (log_p_middle + log_p_last) / 2)
        )
        log_growth = np.trapezoid(np.clip(elasticities, 1.0, LARGEST_ELASTICITY), log_counts)
        return float(log_works[2] + log_growth)


def loss_growths(timings: Timings, noise: float) -> tuple[LossGrowth, ...]:
    """Return two estimates of the growth of losses in the rows of the largest size: one from three
    numbers of processors that differ by a factor of about two, and one from the last three numbers.
    Return nothing if there are fewer than three.

    The last three rows show a plateau that the others pass over, but are near each other, so that
    noise moves an elasticity more; theirs counts `NOISE_FACTOR_OF_CLOSE_ROWS` times.

    Parameters
    ----------
    timings : what was measured
    noise : standard deviation of the logarithms of rows [1]

    >>> p = np.array([4.0, 8.0, 16.0])
    >>> rows = Timings(p, np.ones(3), np.array([25.0, 14.0, 9.5]))
    >>> growth, _ = loss_growths(rows, 1e-9)
    >>> round(growth.longest_time(32.0, 0.9), 2)
    11.57
    """
    timings = timings.select(timings.n == timings.n.max())
    processor_counts = timings.processors
    if len(processor_counts) < LEAST_NUMBERS:
        return ()
    last_count = float(processor_counts[-1])
    count_before = _processors_nearest_to_half(processor_counts[1:-1], last_count)
    first_count = _processors_nearest_to_half(
        processor_counts[processor_counts < count_before], count_before
    )
    return (
        _loss_growth(timings, (first_count, count_before, last_count), noise),
        _loss_growth(
            timings, tuple(processor_counts[-3:].tolist()), NOISE_FACTOR_OF_CLOSE_ROWS * noise
        ),
    )


def _loss_growth(timings: Timings, processor_counts: tuple[float, ...], noise: float) -> LossGrowth:
    """Return the growth of losses between three numbers of processors."""
    times_by_count = [
        timings.time[timings.p == processor_count] for processor_count in processor_counts
    ]
    processors_per_problem = (
        [1.0] * len(processor_counts) if timings.weak_scaling else processor_counts
    )
    processor_seconds = [
        processors_of_problem * float(np.exp(np.log(times).mean()))
        for processors_of_problem, times in zip(processors_per_problem, times_by_count, strict=True)
    ]
    log_deviations = [noise / math.sqrt(len(times)) for times in times_by_count]
    return LossGrowth(
        tuple(processor_counts),
        tuple(processor_seconds),
        tuple(log_deviations),
        timings.weak_scaling,
    )


def _processors_nearest_to_half(processor_counts: Array, largest_count: float) -> float:
    """Return the number of processors whose ratio to the largest one is nearest to one half."""
    return float(processor_counts[np.abs(np.log(processor_counts * 2 / largest_count)).argmin()])
