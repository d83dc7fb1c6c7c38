"""How far a fitted model scales: fastest time, largest speed-up, efficient processors, and the
size needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from slipstick.late import Array, dataclass, np
from slipstick_measure.fit.least_squares import FittedFormula
from slipstick_measure.results import LEVEL
from slipstick_questions.limits import NEAR_LIMIT

if TYPE_CHECKING:
    from slipstick_measure.fit.formula import Timings

LARGEST_SIZE_RATIO = 1e6
"""Multiples of the largest size measured up to which a size is sought."""

MOST_CONSECUTIVE_NUMBERS, RATIO_OF_NUMBERS = 256, 1.02
"""Number of processors up to which every number is evaluated; beyond it, numbers that differ by the
ratio `RATIO_OF_NUMBERS`, and all between them near a result.
"""

RATIO_OF_LEVEL = 1.5
"""The least ratio of the ends of a level stretch; around a highest speed-up that falls again, less
than this lies within `LEVEL` of it.
"""


@dataclass(frozen=True)
class Extrapolation:
    """A fit, evaluated at numbers of processors beyond those that were measured.

    Parameters
    ----------
    fitted_formula : a fit
    n : size of the problem; the largest one measured if None
    largest_predicted : the largest number of processors with a prediction; as far as the formula
        goes if None
    """

    fitted_formula: FittedFormula
    n: float | None = None
    largest_predicted: float | None = None

    @cached_property
    def p(self) -> Array:
        """The numbers of processors at which the fit is evaluated."""
        largest_count = self.fitted_formula.formula.largest_extrapolation_ratio * float(
            self.fitted_formula.timings.p.max()
        )
        largest_count = (
            largest_count
            if self.largest_predicted is None
            else min(largest_count, self.largest_predicted)
        )
        spaced_counts = MOST_CONSECUTIVE_NUMBERS * RATIO_OF_NUMBERS ** np.arange(
            1,
            max(0.0, np.log(largest_count / MOST_CONSECUTIVE_NUMBERS) / np.log(RATIO_OF_NUMBERS))
            + 1,
        )
        processor_counts: Array = np.unique(
            [
                *np.arange(1.0, min(MOST_CONSECUTIVE_NUMBERS, largest_count) + 1),
                *np.minimum(np.round(spaced_counts), largest_count),
                largest_count,
            ]
        )
        return processor_counts

    @cached_property
    def time(self) -> Array:
        """The fitted times at the processor numbers `p` [s]."""
        return self.fitted_formula.predict(self.p, self.n)

    @cached_property
    def base_processors(self) -> float:
        """The smallest number of processors of the largest size measured, over which speed-ups are
        computed.
        """
        return base_processors_of(self.fitted_formula.timings)

    @cached_property
    def base_time(self) -> float:
        """The time of the fit on `base_processors` processors [s]."""
        return float(self.fitted_formula.predict(np.array([self.base_processors]), self.n)[0])

    def _speedup_over_base(self, p: Array, time: Array) -> Array:
        """Return the speed-up over the base b, T(b) / T(p) for a shared work, else p T(b) / (b
        T(p)).
        """
        work_ratio = p / self.base_processors if self.fitted_formula.timings.weak_scaling else 1.0
        speedups: Array = self.base_time / time * work_ratio
        return speedups

    def efficiency(self, p: float, time: float) -> float:
        """Return the efficiency on `p` processors, b speed-up / p over the base b, for a time
        [s].
        """
        return (
            float(self._speedup_over_base(np.array([p]), np.array([time]))[0])
            * self.base_processors
            / p
        )

    def _refine_choice(
        self,
        choose_index: Callable[[Array, Array], int | None],
        steps_before: int,
        steps_after: int,
    ) -> tuple[float, float] | None:
        """Return the number of processors that `choose_index` chooses and the time there [s]; it
        chooses among the evaluated numbers, and then among all whole numbers near its choice. None
        if it chooses nothing.
        """
        coarse_index = choose_index(self.p, self.time)
        if coarse_index is None:
            return None
        nearby_counts = np.arange(
            self.p[max(coarse_index - steps_before, 0)],
            self.p[min(coarse_index + steps_after, len(self.p) - 1)] + 1,
        )
        times = self.fitted_formula.predict(nearby_counts, self.n)
        index = choose_index(nearby_counts, times)
        assert index is not None
        return float(nearby_counts[index]), float(times[index])

    def fastest_point(self) -> tuple[int, float] | None:
        """Return the number of processors with the least time for a fixed amount of work, p_x, and
        that time [s]; None if there is none.

        There is none if the time still falls at the largest number evaluated
        (`TimeFormula.largest_extrapolation_ratio`), or if every processor has work of its own: more
        processors then never shorten a cycle.
        """
        evaluated_times = self.time
        # A model that levels off is fastest at the end to the last digit; that is not a minimum.
        if self.fitted_formula.timings.weak_scaling or not evaluated_times[
            -1
        ] > evaluated_times.min() * (1 + 1e-9):
            return None
        count_and_time = self._refine_choice(lambda p, times: int(np.argmin(times)), 1, 1)
        return None if count_and_time is None else (int(count_and_time[0]), count_and_time[1])

    def largest_speedup(self) -> tuple[float, int]:
        """Return the largest speed-up of the fit over the base, and the number of processors there.

        If it still grows at the largest number evaluated
        (`TimeFormula.largest_extrapolation_ratio`), it is the one there.
        """

        def index_of_largest(p: Array, time: Array) -> int:
            speedups = self._speedup_over_base(p, time)
            # Of speed-ups that are equal but for rounding, that of the fewest processors.
            return int(np.argmax(speedups >= speedups.max() - 1e-9 * abs(speedups.max())))

        count_and_time = self._refine_choice(index_of_largest, 1, 1)
        assert count_and_time is not None
        p, time = count_and_time
        return float(self._speedup_over_base(np.array([p]), np.array([time]))[0]), int(p)

    def first_level_processors(self) -> int | None:
        """Return the smallest number of processors with `NEAR_LIMIT` of the largest speed-up, where
        more than the first with all of it, within `LEVEL`, change the speed-up no further; None if
        it falls again, or still grows at the largest number evaluated.
        """
        largest_speedup, processors = self.largest_speedup()

        def first_with(share_of_largest: float) -> int | None:
            """Return the first number of processors with a part of the largest speed-up, which all
            that follow have as well.
            """

            def index_of_first(p: Array, time: Array) -> int | None:
                is_reached = self._speedup_over_base(p, time) >= share_of_largest * largest_speedup
                return int(np.argmax(is_reached)) if is_reached[-1] else None

            count_and_time = self._refine_choice(index_of_first, 1, 0)
            return None if count_and_time is None else int(count_and_time[0])

        first_level_count = first_with(1 - LEVEL)
        if (
            processors == self.p[-1]
            or first_level_count is None
            or self.p[-1] < RATIO_OF_LEVEL * first_level_count
        ):
            return None
        return first_with(NEAR_LIMIT)

    def largest_efficient_processors(self, efficiency: float) -> int:
        """Return the largest number of processors up to which the efficiency of the fit is at least
        the given efficiency.

        The efficiency is b T(b) / (p T(p)) if all processors share one work, and T(b) / T(p) if
        each processor has work of its own; T(b) is the fitted time on the base of b processors.

        Parameters
        ----------
        efficiency : wanted, above 0 and at most 1 [1]
        """

        def index_of_first_inefficient(p: Array, time: Array) -> int | None:
            efficiencies = self._speedup_over_base(p, time) * self.base_processors / p
            indices = np.flatnonzero(~(efficiencies >= efficiency * (1 - 1e-12)))
            return int(indices[0]) if len(indices) else None

        count_and_time = self._refine_choice(index_of_first_inefficient, 1, 0)
        return int(self.p[-1]) if count_and_time is None else max(1, int(count_and_time[0]) - 1)


def base_processors_of(timings: Timings) -> float:
    """Return the smallest number of processors of the largest size measured."""
    return float(timings.select(timings.n == timings.n.max()).p.min())


def sizes_needed(
    fitted_formula: FittedFormula, p: float, efficiency: float, thetas: Array
) -> Array:
    """Return the smallest problem size at which `p` processors keep an efficiency over the smallest
    number of processors measured, for each set of parameters.

    `LARGEST_SIZE_RATIO` times the largest measured where no size up to it is enough. Assumes that
    the efficiency grows with the size.

    Parameters
    ----------
    fitted_formula : a fit to several sizes
    p : processors
    efficiency : wanted, above 0 and at most 1 [1]
    thetas : sets of parameters in the place of those fitted, (D, k)
    """
    return np.array([_size_needed(fitted_formula, p, efficiency, theta) for theta in thetas])


def size_needed(fitted_formula: FittedFormula, p: float, efficiency: float) -> float | None:
    """Return the size needed by the fitted parameters (see `sizes_needed`); None if the data have
    one size only, or if no size is enough.
    """
    if not fitted_formula.timings.has_sizes:
        return None
    size = _size_needed(fitted_formula, p, efficiency, fitted_formula.theta)
    return size if size < LARGEST_SIZE_RATIO * fitted_formula.timings.n.max() else None


def _size_needed(fitted_formula: FittedFormula, p: float, efficiency: float, theta: Array) -> float:
    """Return the smallest size at which `p` processors keep an efficiency, between the smallest
    size measured and `LARGEST_SIZE_RATIO` times the largest.
    """
    from scipy.optimize import brentq

    def excess_efficiency(log_size: float) -> float:
        base_time, time = fitted_formula.formula.times(
            theta[None],
            fitted_formula.timings.points([base_processors, p], float(np.exp(log_size))),
        )[0]
        return (
            float(base_time / time / (1.0 if timings.weak_scaling else p / base_processors))
            - efficiency
        )

    timings = fitted_formula.timings
    base_processors = base_processors_of(timings)
    smallest_size = float(fitted_formula.timings.n.min())
    largest_size = LARGEST_SIZE_RATIO * float(fitted_formula.timings.n.max())
    if excess_efficiency(np.log(smallest_size)) >= 0 or excess_efficiency(np.log(largest_size)) < 0:
        return smallest_size if excess_efficiency(np.log(smallest_size)) >= 0 else largest_size
    return float(
        np.exp(brentq(excess_efficiency, np.log(smallest_size), np.log(largest_size), xtol=1e-12))
    )
