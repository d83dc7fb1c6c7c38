"""First phases of a Poisson stream that wait for one another, as a Markov chain over rounds.

Counted in pieces at the beginnings of rounds they are a Markov chain, q' = (q - pieces of a
round)+ + pieces of a customer x A, A Poisson with mean X F(n, q): M/D/1 where a first phase takes
several rounds, and rounds one after the other where one round does several. A customer arrives at a
uniform place of a round that it meets with a probability in proportion to its time (renewal
theory); then follow the rounds of what is in front of it and its own, the last of which it shares
with those that came behind. That is the distribution of the first phase. The customer's own work is
one of several equally probable ones; that of others comes in a Poisson stream of equal works with
the same mean and variance in a time, thus of fewer and larger ones by 1 plus the squared
coefficient of variation.

Where a first phase takes several rounds, the second phase fills while a backlog lasts, and slows it
down. A queue of M/D/1 or M/M/1 that reaches k got there in about k S / (1 - X S), with S the time
of c full rounds: it received what it can do at most, and drains as it grew. So a backlog of k that
is met at random is 1.5 k S / (1 - X S) old; since it began one customer came to the second phase in
each S, of those before it c n / v left. So n grows by 1.5 (1 - c n / v) / (1 - X S) with each first
phase that waits, about the mean number in rounds with first phases. Where it comes near the number
of places, first phases wait for one: full rounds are longer by the rounds without them that make
room.
"""

from __future__ import annotations

from slipstick.late import Array, np
from slipstick_rounds.capacity import LEAST_ROOM, MOST_PIECES, MeanRounds

PLACES_IN_A_ROUND, MOST_BEFORE = 4, 16
"""Number of places in a round at which a customer may arrive, and largest number of customers that
came in the same round before it. Of these streams, 16 places move the mean of a first phase by 0.1
% at most and its 95 of 100 by 4 %, 40 customers before move nothing.
"""

RARE = 1e-9
"""Probability below which numbers of first phases, and of customers that come in a round, are left
out; 1e-12 moves these streams by 0.2 % at most.
"""

LEAST_LEFT = 0.01
"""Part of the change of a backlog after a first phase that is left, below which the rest of the
change is not computed (a guard: it is a hundredth of the time by which first phases behind a
customer prolong its second phase).
"""

AGE_OF_A_BACKLOG = 1.5
"""Age of a backlog in units of the time in which it grew: it drains in about as long, so that at a
random time it has half of that behind it as well (derived, not fitted; 1 and 2 in its place move
the mean of a first phase by 5 % at most, and its 95 of 100 by 12 and 14 %, in 240 drawn streams up
to a load of 0.8)."""


class Backlog:
    """The Markov chain of the first phases of Poisson streams that wait or are under way at the
    beginnings of rounds.

    Parameters
    ----------
    rounds : their times
    customers_present : customers in the second phase of rounds without and with first phases, in
        the mean [2, points, 1; 1]
    mean_queued : first phases that wait behind the one under way, in the mean [points, 1; 1]
    """

    def __init__(self, rounds: MeanRounds, customers_present: Array, mean_queued: Array) -> None:
        self._rounds = rounds
        # Customers of different work come as fewer with equal and larger work would: the work that
        # comes in a time has the same mean and variance.
        group_size = 1 + rounds.first_variation
        self._group_rate = rounds.rate / group_size
        self._units_of_group = rounds.first_units * group_size
        self._present_with_first = customers_present[1]
        self._units_per_round, self._pieces_per_first_phase, self._pieces_per_round = (
            self._units_and_pieces(rounds, customers_present[1])
        )
        pieces_waiting = np.arange(int(self.sizes(rounds, customers_present[1]).max()))
        units_by_state = np.minimum(
            pieces_waiting * self._units_of_group / self._pieces_per_first_phase,
            self._units_per_round,
        )
        self._number_queued = np.maximum(
            pieces_waiting * group_size / self._pieces_per_first_phase - 1, 0.0
        )
        present_without_limit = self._present_count_without_limit(customers_present, mean_queued)
        self._present_by_state = np.where(
            pieces_waiting > 0,
            np.minimum(present_without_limit, self._largest_second_phase()),
            customers_present[0],
        )
        self._round_times = rounds.round_time(self._present_by_state, units_by_state)
        # A round takes a whole number of pieces; what that rounds off, its time makes up for.
        rounding_factor = (
            self._units_of_group
            / self._units_per_round
            * self._pieces_per_round
            / self._pieces_per_first_phase
        )
        full_round_times = (
            self._round_times + self._time_of_blocked_rounds(present_without_limit)
        ) * rounding_factor
        is_full = (pieces_waiting > self._pieces_per_round) | (
            (pieces_waiting == self._pieces_per_round) & (rounding_factor > 1)
        )
        self._round_times = np.where(is_full, full_round_times, self._round_times)
        self._pieces_left = np.maximum(pieces_waiting - self._pieces_per_round, 0)
        self._transition_matrix = self._transition_probabilities()
        self._state_weights = self._distribution_of_pieces()

    def _largest_second_phase(self) -> Array:
        """Return the number of customers in the second phase to which a long backlog leads [points,
        1].
        """
        return np.asarray(np.maximum(self._rounds.largest_mean_number, self._present_with_first))

    def _present_count_without_limit(
        self, present_without_and_with_first: Array, mean_queued: Array
    ) -> Array:
        """Return the number of customers in the second phase, by the number of pieces that wait, as
        if it had no limit [points, pieces].

        A backlog of k grows in about k S / (1 - X S), where S is the time that rounds full of first
        phases take for one of them, as a queue does that gets as much as it can do. Meanwhile one
        customer comes to the second phase in each S, and those that were there leave.
        """
        rounds, (without_first, with_first) = self._rounds, present_without_and_with_first
        rounds_needed = rounds.first_units / self._units_per_round
        load = (
            rounds.rate
            * rounds_needed
            * rounds.round_time(with_first, np.minimum(self._units_per_round, rounds.first_units))
        )
        relative_gain = np.maximum(
            1 - rounds_needed * without_first / rounds.second_phase_rounds, 0.0
        )
        growth = AGE_OF_A_BACKLOG * relative_gain / np.maximum(1 - load, LEAST_ROOM)
        present_later = with_first + growth * (self._number_queued - mean_queued)
        return np.asarray(np.maximum(present_later, without_first))

    def _time_of_blocked_rounds(self, number_present: Array) -> Array:
        """Return the time by which first phases that wait for a place prolong a full round [s].

        It is the probability that all places are taken, multiplied by the time of the rounds
        without first phases that the second phases need to free a place. The number present is
        taken as normal with the variance of a Poisson number.
        """
        from scipy.special import ndtr

        rounds = self._rounds
        rounds_needed = self._rounds.first_units / self._units_per_round
        # Where places are few, who waits for one waits before the first phase.
        can_wait = (rounds_needed > 1) & ~rounds.has_few_places
        if not can_wait.any():
            return np.zeros_like(number_present)
        further_rounds = np.maximum(
            rounds.second_phase_rounds / (rounds.largest_mean_number * rounds_needed) - 1, 0.0
        )
        number_deviation = np.sqrt(np.maximum(self._present_with_first, 1.0))
        probability_full = ndtr(
            (number_present - rounds.largest_mean_number + 1) / number_deviation
        )
        added_time = (
            probability_full * further_rounds * rounds.round_time(rounds.largest_mean_number, 0.0)
        )
        return np.where(can_wait, added_time, 0.0)

    def _time_of_full_rounds(self, round_counts: Array, likely_numbers: int) -> Array:
        """Return the time of some successive full rounds, during which the number in the second
        phase grows [s].

        Parameters
        ----------
        round_counts : of rounds, by point, pieces, place and customers before
        likely_numbers : numbers of pieces that count
        """
        present_at_begin = self._present_by_state[:, :likely_numbers, None, None]
        if not (self._rounds.first_units > self._units_per_round).any():
            time_of_one_round = self._rounds.round_time(
                self._present_by_state[:, :likely_numbers], self._units_per_round
            )
            return np.asarray(round_counts * time_of_one_round[:, :, None, None])
        remaining_share = np.exp(
            -round_counts / 2 / self._rounds.second_phase_rounds[:, :, None, None]
        )
        final_present = self._largest_second_phase()[:, :, None, None]
        takes_several = (self._rounds.first_units > self._units_per_round)[:, :, None, None]
        present_later = np.where(
            takes_several,
            final_present - (final_present - present_at_begin) * remaining_share,
            present_at_begin,
        )
        present_later = np.broadcast_to(present_later, round_counts.shape).reshape(
            len(round_counts), -1
        )
        time_of_one_round = self._rounds.round_time(
            present_later, self._units_per_round
        ) + self._time_of_blocked_rounds(present_later)
        return np.asarray(round_counts * time_of_one_round.reshape(round_counts.shape))

    @staticmethod
    def _units_and_pieces(
        rounds: MeanRounds, customers_present: Array
    ) -> tuple[Array, Array, Array]:
        """Return the units of first phases for which a round has room, the pieces into which a
        first phase is divided, and the pieces that a full round does.
        """
        group_size = 1 + rounds.first_variation
        units_per_round = np.minimum(
            rounds.room(customers_present), MOST_PIECES // 4 * rounds.first_units
        )
        pieces_per_first_phase, pieces_per_round = _piece_count(
            group_size * rounds.first_units / units_per_round
        )
        return units_per_round, pieces_per_first_phase, pieces_per_round

    @classmethod
    def load(cls, rounds: MeanRounds, customers_present: Array) -> Array:
        """Return the part of the time that first phases take if all their rounds are full [points,
        1; 1].
        """
        units_per_round, pieces_per_first_phase, pieces_per_round = cls._units_and_pieces(
            rounds, customers_present
        )
        return np.asarray(
            rounds.rate
            * rounds.round_time(customers_present, units_per_round)
            * pieces_per_first_phase
            / pieces_per_round
        )

    @classmethod
    def sizes(cls, rounds: MeanRounds, present_with_first: Array) -> Array:
        """Return the number of states of the chain at each point, one for each number of waiting
        pieces up to a limit [points].

        `present_with_first` is the number of customers in the second phase in rounds with first
        phases [points, 1; 1].
        """
        _, pieces_per_first_phase, pieces_per_round = cls._units_and_pieces(
            rounds, present_with_first
        )
        load = cls.load(rounds, present_with_first)
        sizes = 2 * pieces_per_round + pieces_per_first_phase * np.ceil(
            8 + 8 / np.maximum(1 - load, 0.1)
        )
        return np.minimum(sizes, MOST_PIECES).ravel()

    def _transition_probabilities(self) -> Array:
        """Return the probabilities of the numbers of pieces at the beginning of the next round, by
        the number at the beginning of this one [points, pieces, pieces]: q' = (q - most)+ + work A,
        where A is Poisson with mean rate times the time of the round.
        """
        piece_numbers = np.arange(self._round_times.shape[1])
        arrived_groups = (
            piece_numbers - self._pieces_left[:, :, None]
        ) / self._pieces_per_first_phase[:, :, None]
        probabilities = np.where(
            (arrived_groups >= 0) & (arrived_groups == np.floor(arrived_groups)),
            _poisson_probabilities(
                (self._group_rate * self._round_times)[:, :, None], np.maximum(arrived_groups, 0)
            ),
            0.0,
        )
        probabilities[:, :, -1] += 1 - probabilities.sum(axis=2)
        return probabilities

    def _distribution_of_pieces(self) -> Array:
        """Return the probability of each number of pieces at the beginning of a round, up to a
        factor [points, pieces].
        """
        equations = self._transition_matrix.transpose(0, 2, 1) - np.eye(
            self._transition_matrix.shape[1]
        )
        equations[:, -1] = 1.0
        right_side = np.zeros((*equations.shape[:2], 1))
        right_side[:, -1] = 1.0
        stationary = np.asarray(np.linalg.solve(equations, right_side)[..., 0], dtype=np.float64)
        return np.clip(stationary, 0.0, None)

    def shares(self) -> tuple[Array, Array, Array, Array]:
        """Return the mean time of a round [s], the part of the rounds and the part of the time that
        have first phases [1], and the mean number of first phases that wait in such rounds behind
        the one under way [1] [points].
        """
        total_probability = self._state_weights.sum(axis=1)
        mean_time = (self._state_weights * self._round_times).sum(axis=1)
        without_first = self._state_weights[:, 0] / total_probability
        time_share = 1 - without_first * self._round_times[:, 0] * total_probability / mean_time
        mean_queued = (self._state_weights * self._number_queued).sum(axis=1) / total_probability
        return (
            mean_time / total_probability,
            1 - without_first,
            time_share,
            mean_queued / np.maximum(1 - without_first, 1e-12),
        )

    def number_after_second_phase(self, left_behind: Array) -> tuple[Array, Array]:
        """Return the mean number of first phases that wait or are under way when a second phase
        ends, and the part of the change from L to their mean over rounds that is still to come, as
        a mean over the second phase [points].

        The number goes from L to its mean over rounds as that of the chain does, from rounds in
        which first phases end.

        Parameters
        ----------
        left_behind : L, the mean number when the second phase begins [points]
        """
        rounds, pieces_per_first_phase = self._rounds, self._pieces_per_first_phase
        piece_numbers = np.arange(float(self._state_weights.shape[1]))
        state_probabilities = self._state_weights / self._state_weights.sum(axis=1, keepdims=True)
        mean_pieces = state_probabilities @ piece_numbers
        first_phases_ended = np.ceil(piece_numbers / pieces_per_first_phase) - np.ceil(
            self._pieces_left / pieces_per_first_phase
        )
        end_weights = (state_probabilities * first_phases_ended)[:, None, :]
        # Expected pieces beyond their mean, by those at the beginning of a round before.
        excess_pieces = self._transition_matrix @ (piece_numbers - mean_pieces[:, None])[:, :, None]
        excess_at_begin = np.maximum((end_weights @ excess_pieces)[:, 0, 0], 1e-300)
        round_counts = np.floor(rounds.second_phase_rounds[:, 0])
        part_left, sum_of_parts = np.ones((2, len(round_counts)))
        for rounds_done in range(1, int(round_counts.max())):
            excess_pieces = self._transition_matrix @ excess_pieces
            excess_share = np.clip(
                (end_weights @ excess_pieces)[:, 0, 0] / excess_at_begin, 0.0, 1.0
            )
            is_continued = (rounds_done < round_counts) & (part_left > LEAST_LEFT)
            if not is_continued.any():
                break
            part_left = np.where(is_continued, excess_share, part_left)
            sum_of_parts += np.where(is_continued, excess_share, 0.0)
        mean_number = (
            mean_pieces * (1 + rounds.first_variation[:, 0]) / pieces_per_first_phase[:, 0]
        )
        return mean_number + (left_behind - mean_number) * part_left, sum_of_parts / round_counts

    def first_phase_times_and_weights(self) -> tuple[Array, Array, Array, Array]:
        """Return possible times from an arrival to the end of the first phase, their probabilities,
        and the mean and the mean square of the number of customers that then still wait behind it
        [points].

        The first two are by point, by its own work and whether others come behind, by the number at
        the beginning of the round of the arrival, by the place in it, and by how many came in it
        before.

        A customer arrives in a round with a probability in proportion to its time, at a place
        that is uniform in it. In front of it are then the pieces left by that round, and those
        of the customers that came in the same round before.
        """
        rate, units_per_round, units_of_group = (
            column[:, :, None, None]
            for column in (self._group_rate, self._units_per_round, self._units_of_group)
        )
        state_weights = self._state_weights * self._round_times
        likely_numbers = self._likely_number_count(state_weights)
        places_in_round = (np.arange(PLACES_IN_A_ROUND) + 0.5) / PLACES_IN_A_ROUND
        times = self._round_times[:, :likely_numbers, None, None]
        time_passed = times * places_in_round[None, None, :, None]
        remaining_time = times - time_passed
        arrivals_before = np.arange(float(_largest_count_before(float((rate * times).max()))))
        weights = state_weights[:, :likely_numbers, None, None] * _poisson_probabilities(
            rate * time_passed, arrivals_before
        )
        units_of_piece = self._units_of_group / self._pieces_per_first_phase
        pieces_of_customer = (self._units_of_group / self._rounds.first_units)[:, :, None, None]
        work_of_others = (self._pieces_left[:, :likely_numbers] * units_of_piece)[
            :, :, None, None
        ] + units_of_group * arrivals_before
        all_ends, all_weights, all_left = [], [], []
        for own_work in self._rounds.first_work.T:
            work_ahead = work_of_others + own_work[:, None, None, None]
            full_rounds = np.ceil(work_ahead / units_per_round - 1e-9) - 1
            full_time = self._time_of_full_rounds(full_rounds, likely_numbers)
            # Behind it others come until its last round: none, or some in their mean.
            expected_behind = rate * (remaining_time + full_time)
            none_behind = np.exp(-expected_behind)
            last_units = work_ahead - full_rounds * units_per_round
            units_behind = units_of_group * expected_behind / np.maximum(1 - none_behind, 1e-9)
            all_weights += [weights * none_behind, weights * (1 - none_behind)]
            for units_of_later in (np.zeros_like(units_behind), units_behind):
                own_round = self._interpolated_time(last_units + units_of_later)
                all_ends.append(remaining_time + full_time + own_round)
                # Its last round does what it has room for of those behind; others come meanwhile.
                pieces_left = (
                    np.maximum(last_units + units_of_later - units_per_round, 0.0) / units_of_group
                    + rate * own_round
                )
                all_left.append(pieces_left * pieces_of_customer)
        weights_behind = np.stack(all_weights, axis=1)
        weights_behind /= weights_behind.sum(axis=(1, 2, 3, 4), keepdims=True)
        numbers_behind = np.stack(all_left, axis=1)
        left_behind, left_squared = (
            (weights_behind * number_power).sum(axis=(1, 2, 3, 4))
            for number_power in (numbers_behind, numbers_behind**2)
        )
        return np.stack(all_ends, axis=1), weights_behind, left_behind, left_squared

    @staticmethod
    def _likely_number_count(weights: Array) -> int:
        """Return how many numbers of pieces, from 0 on, are not too rare to count; see `RARE`."""
        tails = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
        return int(np.flatnonzero((tails > RARE * tails[:, :1]).any(axis=0))[-1]) + 1

    def _interpolated_time(self, units: Array) -> Array:
        """Return the time of a round that does some units of first phases, interpolated between
        whole pieces, by point [s].
        """
        point_count, state_count = self._round_times.shape
        piece_numbers = np.minimum(
            units.reshape(point_count, -1) * self._pieces_per_first_phase / self._units_of_group,
            state_count - 1.0,
        )
        pieces_below = np.minimum(piece_numbers.astype(int), state_count - 2)
        time_below = np.take_along_axis(self._round_times, pieces_below, axis=1)
        time_above = np.take_along_axis(self._round_times, pieces_below + 1, axis=1)
        return np.asarray(
            time_below + (piece_numbers - pieces_below) * (time_above - time_below)
        ).reshape(units.shape)


def _largest_count_before(mean_arrivals: float) -> int:
    """Return the largest number of customers whose arrival during a round is not too rare to count,
    for a mean number of arrivals.
    """
    cumulated_probabilities = np.cumsum(
        _poisson_probabilities(np.array(mean_arrivals), np.arange(float(MOST_BEFORE)))
    )
    return min(int(np.searchsorted(cumulated_probabilities, 1 - RARE)) + 1, MOST_BEFORE)


def _piece_count(rounds_needed: Array) -> tuple[Array, Array]:
    """Return the number of equal pieces into which the work of a customer is divided, and the
    number of such pieces that a round can do.

    The ratio of the two whole numbers is about the number of rounds that a customer needs. The
    smaller is at most 3, so that a chain over pieces has few states.
    """
    bounded_rounds_needed = np.maximum(rounds_needed, 1 / MOST_PIECES)
    few_pieces = np.arange(1.0, 4.0)[:, None, None]
    ratio_above_one = np.where(
        bounded_rounds_needed < 1, 1 / bounded_rounds_needed, bounded_rounds_needed
    )
    many_pieces = np.rint(few_pieces * ratio_above_one)
    # Of a round that does several customers the nearest ratio, else the nearest part of it.
    rounding_error = np.where(
        bounded_rounds_needed < 1,
        abs(many_pieces / few_pieces - ratio_above_one),
        abs(few_pieces * ratio_above_one / many_pieces - 1),
    )
    best_index = np.argmin(np.round(rounding_error, 12), axis=0)
    fewer_pieces = best_index + 1.0
    more_pieces = np.take_along_axis(many_pieces, best_index[None], axis=0)[0]
    pieces_of_customer = np.where(bounded_rounds_needed < 1, fewer_pieces, more_pieces)
    pieces_of_round = np.where(
        bounded_rounds_needed < 1, np.minimum(more_pieces, MOST_PIECES // 4), fewer_pieces
    )
    return pieces_of_customer, pieces_of_round


def _poisson_probabilities(means: Array, counts: Array) -> Array:
    """Return the probabilities of some counts in a Poisson distribution; means and counts are
    broadcast.
    """
    log_factorials: Array = np.cumsum(np.log(np.maximum(np.arange(counts.max() + 2), 1)))
    probabilities: Array = np.exp(
        counts * np.log(np.maximum(means, 1e-300))
        - means
        - log_factorials[np.floor(counts).astype(int)]
    )
    return probabilities
