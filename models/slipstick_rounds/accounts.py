"""Values of points from the mean times of both phases: accounts by component, numbers in a round.

The number of customers in a round, as a mean over rounds, follows from Little's law with time
counted in rounds: X times the time from the beginning of a round to the next, times v + c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from slipstick.late import Array, np
from slipstick_rounds.capacity import MeanRounds

FloatOrArray = TypeVar("FloatOrArray", float, Array)


class PhaseTimes(NamedTuple, Generic[FloatOrArray]):
    """The mean times and numbers of both phases of a visit, at several points or at one.

    Attributes
    ----------
    delay, waiting : before the server, and for a place in it [s]
    first_phase, second_phase : time from admission to the end of the first phase, and from there
        to the end of the second [s]
    number_beside, number_with_first : customers in the second phase beside a customer of it, itself
        included, and those in rounds with first phases [1]
    units_with_first : of first phases in a round that has any [1]
    """

    delay: FloatOrArray
    waiting: FloatOrArray
    first_phase: FloatOrArray
    second_phase: FloatOrArray
    number_beside: FloatOrArray
    number_with_first: FloatOrArray
    units_with_first: FloatOrArray


class ComputedPoint(NamedTuple):
    """The values that the formula computes at one point: times, quantiles, and numbers in a round.

    Attributes
    ----------
    times : of both phases
    first_account, second_account : time in the first phase and in the second, by component
        [components; s]
    mean_wait : before the rounds of the first phase [s]
    served : customers in a round, in the mean [1]
    throughput : visits that end [1/s]
    round_time : mean time of a round [s]
    quantiles : of the first phase, without its delay; empty where they are not known [s]
    unit_time, unit_quantiles : of the time of a unit of the second phase, times the mean of its
        units; 0 and empty where they are not known apart [s]
    """

    times: PhaseTimes[float]
    first_account: list[float]
    second_account: list[float]
    mean_wait: float
    served: float
    throughput: float
    round_time: float
    quantiles: Sequence[float] = ()
    unit_time: float = 0.0
    unit_quantiles: Sequence[float] = ()


class RoundTimes(NamedTuple):
    """The mean time of a round, and the mean time from the beginning of a round to the beginning of
    the next.

    Attributes
    ----------
    mean : of a round [s]
    time_between : from the beginning of a round to that of the next, idle time included [s]
    """

    mean: float
    time_between: float


def points_from_times(
    rounds: MeanRounds, phase_times: PhaseTimes[Array], throughput: Array, round_times: Array
) -> list[ComputedPoint]:
    """Compute the accounts, quantiles and mean numbers of points from the times of their phases.

    Parameters
    ----------
    rounds : their times of rounds
    phase_times : mean times of their phases
    throughput : visits that end [points; 1/s]
    round_times : see `RoundTimes` [points, 2; s]
    """
    round_time, time_between = round_times.T
    first_accounts, waiting_times, second_accounts = _accounts_of_phases(rounds, phase_times)
    customers_served = rounds.served_per_round(
        throughput * time_between, phase_times.number_with_first
    )
    value_columns = (
        first_accounts.T,
        second_accounts.T,
        waiting_times,
        customers_served,
        throughput,
        round_time,
    )
    times_by_point = map(PhaseTimes[float]._make, np.transpose(phase_times).tolist())
    value_rows = zip(*(column.tolist() for column in value_columns), strict=True)
    return [
        ComputedPoint(point_times, *point_values)
        for point_times, point_values in zip(times_by_point, value_rows, strict=True)
    ]


def _accounts_of_phases(rounds: MeanRounds, times: PhaseTimes[Array]) -> tuple[Array, Array, Array]:
    """Return the time of the rounds of a first phase by component [components, points; s], the wait
    before these rounds [points; s], and the time of the rounds of a second phase by component
    [components, points; s].

    A first phase takes whole rounds; what is left of its time is a wait. In the second, rounds
    without first phases take v D(n), and what rounds with them add is in proportion to the parts
    that a first phase adds to a round.
    """
    times_with_first, times_without_units, times_without_first = (
        rounds.component_times(number_present[:, None], units[:, None])[:, :, 0]
        for number_present, units in (
            (times.number_with_first, times.units_with_first),
            (times.number_with_first, np.zeros_like(times.units_with_first)),
            (times.number_beside, np.zeros_like(times.units_with_first)),
        )
    )
    round_time = times_with_first.sum(axis=0)
    rounds_needed = np.maximum(
        rounds.first_units[:, 0] / np.maximum(times.units_with_first, 1e-9), 1.0
    )
    first_parts = times_with_first * np.minimum(rounds_needed, times.first_phase / round_time)
    plain_time = np.maximum(times_without_first.sum(axis=0), 1e-300)
    parts_of_plain_rounds = times_without_first * np.minimum(
        rounds.second_phase_rounds[:, 0], times.second_phase / plain_time
    )
    added_parts = times_with_first - times_without_units
    # Parts that first phases do not add, or only those of a rest of rounding: all in proportion.
    added_parts = np.where(
        added_parts.sum(axis=0) > 1e-9 * round_time, added_parts, times_with_first
    )
    time_left = times.second_phase - parts_of_plain_rounds.sum(axis=0)
    second_parts = parts_of_plain_rounds + added_parts * (time_left / added_parts.sum(axis=0))
    return first_parts, times.first_phase - first_parts.sum(axis=0) + times.waiting, second_parts
