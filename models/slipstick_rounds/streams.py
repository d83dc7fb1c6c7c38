"""Poisson streams: numbers present and times of first phases, computed from each other in turn.

Customers of the second phase gather in rounds with first phases, which are longer. Little's law
over rounds gives their mean number in a round, X T v, and over time it is n; the difference of the
two is that of the numbers in both kinds of rounds, times the difference of the parts of the time
and of the rounds that have first phases. W (see `capacity`) needs the number L of first phases that
one leaves behind, and L the numbers: they are computed in turn until neither moves by a percent; a
stream that goes back and forth is refused. The server is idle where no first phase is under way and
no customer is in the second phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slipstick.late import Array, NDArray, np
from slipstick_rounds.accounts import ComputedPoint, PhaseTimes, points_from_times
from slipstick_rounds.backlog import Backlog
from slipstick_rounds.capacity import LEAST_ROOM, MOST_PRESENT, MeanRounds, PartsOfVisits
from slipstick_rounds.first_phases import (
    LEAST_CHANGE,
    NODES,
    NORMAL_QUANTILE,
    FirstPhases,
    first_phases_open,
    first_phases_over_numbers,
)
from slipstick_rounds.later_phases import FirstPhasesBehind, times_of_a_unit
from slipstick_rounds.model import QUANTILES
from slipstick_rounds.present import numbers_of_customers, share_behind, solve_present
from slipstick_rounds.waits import Waits

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

MOST_SETTLING, LARGEST_LAST_CHANGE = 12, 0.01
"""How often numbers and times are computed from each other at most, and the largest relative change
of the first phase and of the time between rounds with which they are taken as settled. What has not
settled is refused: none of 120 drawn streams at 0.9 of the capacity and below, and 5 at 0.95. Up to
0.8, steps to a thousandth moved the mean of a first phase by 2 % at most in 240 streams, and its 95
of 100 and the number in a round by 4 %.
"""

HARDLY_IDLE, ROUNDS_OF_WORK = 0.95, 2
"""Part of the time that a server works from which on the time of its rounds follows from its work,
as small errors of that part count much below; and how often the mean number in a round and that
time are computed from each other, a third time moves nothing by a percent."""

LARGEST_GROUP = 200_000
"""Largest number of elements of one array, so that the arrays stay in a cache."""

MOST_KEPT = 6_000_000
"""Largest number of times of visits, by number of customers, that are kept, 144 MB."""


def _time_between_by_work(
    rounds: MeanRounds, number_present: Array, busy_share: Array, time_between: Array
) -> Array:
    """Return the mean time from the beginning of a round to the beginning of the next, from the
    work that arrives in a second [points; s].

    N rounds in a time have second phases of X v rounds: with D(n) = D(0) + b n the busy time is
    U = N D(0) + X v b + X P, where b is that at the mean number of a round, X v / N.

    Parameters
    ----------
    rounds : their times
    number_present : customers in the second phase of rounds with first phases [points, 1; 1]
    busy_share : U [points; 1]
    time_between : a first approximation of 1 / N [points; s]
    """
    fixed_time = rounds.round_time(0.0, 0.0)[:, 0]
    rounds_of_second = (rounds.rate * rounds.second_phase_rounds)[:, 0]
    share_of_first = rounds.share_of_first_phases(number_present)[:, 0]
    for _ in range(ROUNDS_OF_WORK):
        mean_number = np.maximum(rounds_of_second * time_between, 1e-9)
        time_of_one = (
            rounds.round_time(mean_number[:, None], 0.0)[:, 0] - fixed_time
        ) / mean_number
        share_left = busy_share - share_of_first - rounds_of_second * time_of_one
        is_known = share_left > LEAST_ROOM * busy_share
        time_by_work = fixed_time / np.maximum(share_left, 1e-9)
        time_between = np.where(is_known, time_by_work, time_between)
    return np.asarray(time_between)


def values_of_streams(
    rounds: MeanRounds, rows: Indices, streams: ConvergedStreams
) -> list[ComputedPoint]:
    """Compute the values of streams from their converged numbers and times."""
    if not len(rows):
        return []
    rounds = rounds.select_rows(rows)
    rates = rounds.rate[:, 0]
    phase_times = PhaseTimes(
        rounds.delay[:, 0],
        streams.probability_full[rows] * streams.mean_wait[rows],
        streams.means[rows],
        streams.in_second_phase[rows] / rates,
        streams.number_beside[rows],
        streams.present[1, rows, 0],
        streams.units_with_first[rows],
    )
    computed_points = points_from_times(rounds, phase_times, rates, streams.round_times[rows])
    quantiles = streams.quantiles[rows].tolist()
    first_phases_behind = FirstPhasesBehind(
        streams.number_worked_off[rows], streams.behind_variance[rows], streams.part_left[rows]
    )
    unit_times = times_of_a_unit(
        rounds, streams.fullness[rows], phase_times, first_phases_behind
    ).tolist()
    return [
        point._replace(
            quantiles=quantiles_of_first, unit_time=mean_of_unit, unit_quantiles=quantiles_of_unit
        )
        for point, quantiles_of_first, (mean_of_unit, *quantiles_of_unit) in zip(
            computed_points, quantiles, unit_times, strict=True
        )
    ]


class ConvergedStreams:
    """The numbers of streams and the times of their first phases, iterated until they agree with
    each other.

    A first phase leaves those behind that came while it lasted, less what its last round had room
    for (first come, first served). They make the rounds longer with which the second phase begins.

    Parameters
    ----------
    rounds : their times
    rows : the points that are not saturated

    Attributes
    ----------
    in_second_phase, number_beside, idle_probability : see `PresentNumbers` [points]
    probability_full, mean_wait, place_load : see `PresentNumbers` [points]
    fullness : see `PresentNumbers` [points, quantiles and 1]
    means, quantiles : of first phases [points; points, quantiles; s]
    round_times : see `RoundTimes` [points, 2; s]
    present : customers in the second phase of rounds without and with first phases [2, points, 1;
        1]
    units_with_first : of first phases in a round that has any [points; 1]
    unconverged_rows : points whose numbers and times have not converged
    """

    def __init__(self, rounds: MeanRounds, rows: Indices) -> None:
        point_count = len(rounds.rate)
        self.in_second_phase, self.number_beside, self.idle_probability = np.zeros((3, point_count))
        self.probability_full, self.mean_wait, self.place_load = np.zeros((3, point_count))
        self.fullness = np.zeros((point_count, len(QUANTILES) + 1))
        self.means = np.zeros(point_count)
        self.round_times = np.zeros((point_count, 2))
        self.quantiles = np.zeros((point_count, len(QUANTILES)))
        self.number_worked_off, self.behind_variance, self.part_left = np.zeros((3, point_count, 1))
        self._number_queued = np.zeros((point_count, 1))
        self._excess_present = np.zeros((2, point_count, 1))
        self.present = np.ones((2, point_count, 1))
        self.units_with_first = np.zeros(point_count)
        most_numbers = int(numbers_of_customers(rounds)[1].max())
        self._kept_numbers = most_numbers if point_count * most_numbers <= MOST_KEPT else 0
        self._kept_times = np.ones((3, point_count, self._kept_numbers))
        self._is_kept = np.zeros(point_count, dtype=bool)
        all_rounds, all_rows = rounds, rows
        for _ in range(MOST_SETTLING):
            if not len(rows):
                break
            rows = rows[self._change_of_times(rounds.select_rows(rows), rows) > LARGEST_LAST_CHANGE]
        self.unconverged_rows = rows
        self._compute_over_numbers(all_rounds, np.setdiff1d(all_rows, rows))

    def _compute_over_numbers(self, rounds: MeanRounds, rows: Indices) -> None:
        """Replace the means and the quantiles of first phases by mixtures over the number in the
        second phase, at the points where this number changes the room of a round.
        """
        quantile_index = QUANTILES.index(0.9)
        number_deviation = (
            self.fullness[:, quantile_index] - self.fullness[:, -1]
        ) / NORMAL_QUANTILE
        room, room_change = rounds.room(self.present[1]), number_deviation[:, None] * rounds.piece
        rounds_with_more_room, rounds_with_less_room = (
            np.ceil(rounds.first_units / (room + sign * NODES[-1] * room_change))
            for sign in (1.0, -1.0)
        )
        is_changing = (room_change > LEAST_CHANGE * room) | (
            rounds_with_more_room != rounds_with_less_room
        )
        rows = rows[is_changing[rows, 0]]
        if not len(rows):
            return
        rounds_of_rows = rounds.select_rows(rows)
        for group_indices in _row_groups(
            np.arange(len(rows)), Backlog.sizes(rounds_of_rows, self.present[1, rows]) ** 2
        ):
            group_rows = rows[group_indices]
            self.means[group_rows], self.quantiles[group_rows] = first_phases_over_numbers(
                rounds.select_rows(group_rows),
                self.present[:, group_rows],
                number_deviation[group_rows, None],
                self._waits(rounds.select_rows(group_rows), group_rows),
                self._number_queued[group_rows],
            )

    def _change_of_times(self, rounds: MeanRounds, rows: Indices) -> Array:
        """Compute the numbers and times of some points once more, and return the relative change of
        their times [rows].
        """
        most_customers = np.minimum(rounds.most_customers, MOST_PRESENT)
        row_count = len(rows)
        for group_indices in _row_groups(np.arange(row_count), np.ceil(most_customers.ravel()) + 1):
            group_rounds = rounds.select_rows(group_indices)
            present_numbers = solve_present(
                group_rounds,
                self.number_worked_off[rows[group_indices]],
                self.part_left[rows[group_indices]],
                self._visit_times(group_rounds, rows[group_indices]),
            )
            for name, column in zip(present_numbers._fields, present_numbers, strict=True):
                getattr(self, name)[rows[group_indices]] = column
        mean_in_second_phase = self.in_second_phase[rows, None]
        times_before = self._times_to_converge(rows)
        present_counts = np.clip(
            mean_in_second_phase + self._excess_present[:, rows],
            1.0,
            np.maximum(most_customers, 1.0),
        )
        for group_indices in _row_groups(
            np.arange(row_count), Backlog.sizes(rounds, present_counts[1]) ** 2
        ):
            changed_rows = rows[group_indices]
            waits = self._waits(rounds.select_rows(group_indices), changed_rows)
            first_phases = first_phases_open(
                rounds.select_rows(group_indices),
                present_counts[:, group_indices],
                waits,
                self._number_queued[changed_rows],
                # Without times before these, none can have converged.
                with_quantiles=bool(times_before.any()),
            )
            self.means[rows[group_indices]], self.quantiles[rows[group_indices]] = (
                first_phases.means,
                first_phases.quantiles,
            )
            self.round_times[rows[group_indices]] = self._round_times(
                rounds.select_rows(group_indices), first_phases, present_counts[:, group_indices]
            )
            self._excess_present[:, rows[group_indices]] = self._excess_in_second_phase(
                rounds.select_rows(group_indices), mean_in_second_phase[group_indices], first_phases
            )
            self.present[:, rows[group_indices]] = present_counts[:, group_indices]
            self._number_queued[rows[group_indices]] = first_phases.number_queued[:, None]
            self.number_worked_off[rows[group_indices]] = first_phases.number_worked_off[:, None]
            self.part_left[rows[group_indices]] = first_phases.part_left[:, None]
            self.behind_variance[rows[group_indices]] = first_phases.behind_variance[:, None]
            units_per_round = (
                rounds.rate[group_indices, 0]
                * first_phases.round_times
                * rounds.first_units[group_indices, 0]
            )
            self.units_with_first[rows[group_indices]] = units_per_round / np.maximum(
                first_phases.round_share, 1e-12
            )
        times = self._times_to_converge(rows)
        return np.asarray((abs(times - times_before) / times).max(axis=1))

    def _visit_times(self, rounds: MeanRounds, rows: Indices) -> PartsOfVisits:
        """Return the times of visits by the number of customers. They do not change while numbers
        and times are computed from each other, so they are kept if there is space for them.
        """
        customer_numbers, _ = numbers_of_customers(rounds)
        if self._kept_numbers < customer_numbers.shape[1]:
            return rounds.parts_of_visits(customer_numbers)
        if self._is_kept[rows].all():
            return PartsOfVisits(*self._kept_times[:, rows, : customer_numbers.shape[1]])
        times = rounds.parts_of_visits(customer_numbers)
        self._kept_times[:, rows, : customer_numbers.shape[1]] = times
        self._is_kept[rows] = True
        return times

    def _waits(self, rounds: MeanRounds, rows: Indices) -> Waits:
        """Return what arriving customers find at some points, see `Waits`."""
        variation = np.minimum(rounds.second_variation[:, 0], 1.0)
        return Waits(
            self.idle_probability[rows],
            self.probability_full[rows],
            self.mean_wait[rows],
            variation,
        )

    def _times_to_converge(self, rows: Indices) -> Array:
        """Return the times whose convergence is tested [rows, 2; s]."""
        return np.stack([self.means[rows], self.round_times[rows, 1]], axis=1)

    @staticmethod
    def _round_times(rounds: MeanRounds, first_phases: FirstPhases, present_counts: Array) -> Array:
        """Return the times of rounds, see `RoundTimes` [points, 2; s].

        The chain of first phases goes on in rounds while the server is idle. It becomes idle where
        a first phase leaves none behind and none comes in the rounds of its second phase. Beside
        that customer half of those that were there in rounds without first phases are left, as a
        mean over these rounds.
        """
        probability_empty = np.exp(
            -rounds.rate
            * rounds.second_phase_rounds
            * rounds.round_time(1 + present_counts[0] / 2, 0.0)
        ).ravel()
        busy_share = 1 - (1 - first_phases.time_share) * probability_empty
        time_between = first_phases.round_times / (
            1 - (1 - first_phases.round_share) * probability_empty
        )
        time_by_work = _time_between_by_work(rounds, present_counts[1], busy_share, time_between)
        time_between = np.where(busy_share > HARDLY_IDLE, time_by_work, time_between)
        return np.stack([busy_share * time_between, time_between], axis=1)

    @staticmethod
    def _excess_in_second_phase(
        rounds: MeanRounds, mean_in_second_phase: Array, first_phases: FirstPhases
    ) -> Array:
        """Return by how much the mean number in the second phase differs from its mean over time:
        in rounds without first phases, and in rounds with first phases [2, points, 1].

        Little's law over rounds gives the mean number of a round, X T v; over time it is n. The
        difference of the two means is that of the two kinds of rounds, times the difference of
        their parts of the time and of the rounds. It is also the part of n in the time of the first
        phases behind: where rounds with first phases are rare, a small error of T is large beside
        it, and where they are not, an error of that part is, so that the smaller number is taken.
        """
        number_by_rounds = (
            rounds.rate * first_phases.round_times[:, None] * rounds.second_phase_rounds
        )
        number_behind = mean_in_second_phase * share_behind(
            rounds, mean_in_second_phase, first_phases.number_worked_off[:, None]
        )
        number_below_mean = np.clip(mean_in_second_phase - number_by_rounds, 0.0, number_behind)
        time_shares = first_phases.time_share[:, None] - first_phases.round_share[:, None]
        excess_number = number_below_mean / np.maximum(time_shares, 1e-9)
        excess_number = np.where(time_shares > 0.01, excess_number, 0.0)
        time_share = first_phases.time_share[:, None]
        return np.stack([-time_share * excess_number, (1 - time_share) * excess_number])


def _row_groups(rows: Indices, sizes: Array) -> Iterator[Indices]:
    """Yield groups of rows that are similar in size; each is small enough for its arrays to stay in
    a cache.
    """
    rows = rows[np.argsort(sizes[rows], kind="stable")]
    group_start = 0
    while group_start < len(rows):
        group_end = group_start + 1
        while (
            group_end < len(rows)
            and sizes[rows[group_end]] * (group_end + 1 - group_start) <= LARGEST_GROUP
        ):
            group_end += 1
        yield rows[group_start:group_end]
        group_start = group_end
