"""How runs grow: in processors alone (strong scaling), or in the work as well (weak scaling), and
the run with which a run is compared.

One definition for every reader. The reference of a run is that with the fewest processors among
those of the same size or, in weak scaling, of the same work a processor. With the time T_r of the
reference on r processors, a run on p is ideal if it takes ``T_r r / p`` (strong) or ``T_r`` (weak);
its efficiency is the ideal time over its own, and its speed-up p times that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from slipstick.errors import SpecError
from slipstick.late import dataclass
from slipstick_measure.measurements import MeasuredPoint, Measurements, ReducedValue

LEAST_CONSTANT_TIME, LEAST_PROCESSOR_RATIO = 0.8, 4.0
"""A time that stays above this part of the first, while the processors grow by this factor, may be
that of weak scaling: as strong scaling its efficiency is below 31 %.
"""

SIZE_EXPONENTS = (1.0, 2.0, 3.0)
"""Powers of a size that may be the work: cells, or the edge of a square or a cube."""

_EXPONENT_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Growth:
    """How the work grows from run to run.

    Parameters
    ----------
    is_weak : whether the work grows with the processors
    exponent : exponent of the size in the work, if sizes grow with the processors
    ignores_sizes : whether runs are compared whatever their size, as rates of growing work are
    sizes_of_each : whether a size is that of each processor, as of a message
    """

    is_weak: bool = False
    exponent: float = 1.0
    ignores_sizes: bool = False
    sizes_of_each: bool = False

    def group_key(self, point: MeasuredPoint) -> float | None:
        """Return the key that is equal for comparable runs: the size, or in weak scaling the work
        per processor; None if sizes do not matter.
        """
        if self.ignores_sizes:
            return None
        if not self.is_weak or self.sizes_of_each or point.n is None:
            return point.n
        return round(log(point.n**self.exponent / point.p), 1)

    def reference_point(
        self, point: MeasuredPoint, points: Sequence[MeasuredPoint]
    ) -> MeasuredPoint:
        """Return the run with which a run is compared: the comparable run on the fewest processors,
        which may be the run itself.
        """
        own_group = self.group_key(point)
        return min(
            (other_point for other_point in points if self.group_key(other_point) == own_group),
            key=lambda other_point: other_point.p,
            default=point,
        )

    def ideal_time(self, reference_point: MeasuredPoint, reference_time: float, p: int) -> float:
        """Return the time [s] on `p` processors without loss, from the time of the reference."""
        return reference_time if self.is_weak else reference_time * reference_point.p / p


def growth_of(
    measurements: Measurements,
    points: Sequence[MeasuredPoint],
    time_by_point_index: Mapping[int, ReducedValue],
) -> Growth:
    """Determine how the work grows from run to run: from the file or the hints, else from the
    sizes, else as strong scaling if the times fall.

    Parameters
    ----------
    measurements : the measurements
    points : all that was measured
    time_by_point_index : the elapsed time of each point, by its index; points without one have none

    Raises
    ------
    SpecError : the time stays while the processors grow, and nothing says whether the work grew
    """
    timed_indices = [index for index in time_by_point_index if time_by_point_index[index].value > 0]
    exponent = _size_exponent([points[index] for index in timed_indices])
    if timed_indices and time_by_point_index[timed_indices[0]].run.metric in (
        "throughput",
        "speedup",
    ):
        # Work in a time is what it is, whether the work grew or not. Rates of small and of large
        # messages are of different work.
        is_weak = bool(measurements.weak) and not measurements.sizes_of_each
        return Growth(ignores_sizes=exponent is not None or is_weak)
    if measurements.weak is not None:
        return Growth(measurements.weak, exponent or 1.0, sizes_of_each=measurements.sizes_of_each)
    is_cycle = any(time_by_point_index[index].run.metric == "cycle" for index in timed_indices)
    if is_cycle or exponent is not None:
        return Growth(is_weak=True, exponent=exponent or 1.0)
    _refuse_unclear_growth(points, time_by_point_index, timed_indices)
    return Growth()


def _size_exponent(points: Sequence[MeasuredPoint]) -> float | None:
    """Return the exponent with which a power of the size grows in proportion to the processors;
    None if no power does, or if runs have no size or several sizes on a number of processors.
    """
    counts_and_sizes = sorted({(point.p, point.n) for point in points if point.n is not None})
    if (
        len(counts_and_sizes) < 2
        or len(counts_and_sizes) != len({first_count for first_count, _ in counts_and_sizes})
        or len(counts_and_sizes) != len(points)
    ):
        return None
    if len({first_size for _, first_size in counts_and_sizes}) < len(counts_and_sizes):
        return None
    (first_count, first_size), *other_counts_and_sizes = counts_and_sizes
    for exponent in SIZE_EXPONENTS:
        ratios = [
            (other_size / first_size) ** exponent / (other_count / first_count)
            for other_count, other_size in other_counts_and_sizes
            if first_size and other_size
        ]
        if all(abs(ratio - 1) < _EXPONENT_TOLERANCE for ratio in ratios):
            return exponent
    return None


def _refuse_unclear_growth(
    points: Sequence[MeasuredPoint],
    time_by_point_index: Mapping[int, ReducedValue],
    timed_indices: Sequence[int],
) -> None:
    """Raise if the time stays constant as processors are added, unless measured waits explain
    it.
    """
    indices_without_size = [index for index in timed_indices if points[index].n is None]
    if not indices_without_size:
        return
    first_index = min(indices_without_size, key=lambda index: points[index].p)
    last_index = max(indices_without_size, key=lambda index: points[index].p)
    processor_ratio = points[last_index].p / points[first_index].p
    if (
        processor_ratio < LEAST_PROCESSOR_RATIO
        or time_by_point_index[last_index].value
        < LEAST_CONSTANT_TIME * time_by_point_index[first_index].value
    ):
        return
    if _explains_constant_time(points[first_index], points[last_index]):
        return
    message = (
        f"the time goes from {time_by_point_index[first_index].value:.4g} s at p ="
        f" {points[first_index].p} to"
        f" {time_by_point_index[last_index].value:.4g} s at p = {points[last_index].p}; did the"
        " work grow with"
        " the"
        " processors? Say --scaling weak if it did, --scaling strong if it stayed"
    )
    raise SpecError([time_by_point_index[last_index].run.problem(message, "time")])


def _explains_constant_time(first_point: MeasuredPoint, last_point: MeasuredPoint) -> bool:
    """Return whether waits, or useful times that do not grow with the processors, explain a
    constant time.
    """
    if last_point.regions("wait") and not last_point.regions("busy"):
        return True
    if last_point.find("parallel_efficiency") or last_point.find("load_balance"):
        return True
    first_busy_time = first_point.total("busy")
    last_busy_time = last_point.total("busy")
    return (
        first_busy_time is not None
        and last_busy_time is not None
        and last_busy_time < first_busy_time * last_point.p / first_point.p * 0.7
    )
