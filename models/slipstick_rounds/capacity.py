"""Capacity of servers that work in rounds: times of rounds by what is in them, and the load.

A round with n customers in the second phase, each in the middle of its work, takes D(n); with q
units of the first phase as well, F(n, q). The first phase of a customer, w units, takes c = w / r
rounds, at least one, where r = B - n is the room that the second phases leave in the budget B. It
makes rounds longer by P(n) = c (F(n, w / c) - D(n)).

Of a Poisson stream with rate X, a round of mean time T sees X T arrivals, each of which makes
rounds longer by P(n) in all: T = D(n) + X T P(n), so

    T(n) = D(n) / (1 - X P(n)).

The second phase, v units, begins with L first phases, those that came behind a customer while its
own lasted and that its last round had no room for. W X come while it lasts, and L_v are there when
it ends, so that L + W X - L_v are worked off in it, each in P:

    W(n) = (v D(n) + (L - L_v) P(n)) / (1 - X P(n)),

and no more than v full rounds: with L about exponential, what (L - L_v) P adds to v T(n) is in the
mean E (1 - exp(-M / E)), where E is that addition and M what v full rounds leave for it.

A closed population of n customers takes S(n) = v D(n) / n + P(n) of the server for each visit.

Where n is as large as it can be, K, and X v T(K) / K reaches 1, the server is saturated by its mean
rounds. K is the places, what memory holds, or v B / (w + v): as many are in the second phase where
all rounds are full.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from slipstick.errors import NoAnswerError, Saturated
from slipstick.late import Array, NDArray, np
from slipstick_rounds.points import PhaseNumbers, PointNumbers, round_time_at
from slipstick_rounds.round_run import RoundContents, RoundServer

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

MOST_PRESENT = 20_000
"""Largest number of customers that the birth-death process counts."""

MOST_PIECES = 400
"""Largest number of pieces of first phases that wait, in the chain of a backlog. Of 240 drawn
streams up to a load of 0.8, 1,200 pieces move no value by over 0.1 %; at 0.9 some do not settle
with either.
"""

LENGTHS = 16
"""Number of equally probable works of a first phase, and of lengths of a second phase, that stand
for all where customers differ. With 8, the 95 of 100 of first phases of which the longest just
exceeds a round was 12 to 15 % short; with 16 it is within 4 %, and 32 move it by less than 1 %
(`benchmarks/rounds.py`, seeds 35114001 and 35114101).
"""

ROUNDS_TOGETHER = 3
"""How often the time of a round and the time that first phases add to it are computed from each
other; a fourth time moves nothing by a percent.
"""

LEAST_ROOM = 0.05
"""Least part of the time that first phases leave over, with which backlogs are computed (a guard:
0.02 and 0.1 move nothing up to a load of 0.8).
"""

WHOLE_NUMBERS = 8
"""Number of whole numbers of customers that are counted on each side of a ratio."""

LEAST_FED = 0.5
"""Number of places, as a part of the customers that full rounds bring to the second phase, from
which on first phases wait for rounds that make room. Fitted on the seeds 20261128, 71128 and 828411
of `benchmarks/rounds.py`.
"""

LARGE_ROUND = 4096.0
"""Number of customers in a round with which the capacity of a server without a limit of customers
is computed [1].
"""


def _as_column(values_at_points: Iterable[float]) -> Array:
    """Return one value for each point as a column [points, 1]."""
    return np.array([*values_at_points], dtype=np.float64)[:, None]


class PartsOfVisits(NamedTuple):
    """The times of which a visit consists, by the number of customers in the second phase; see this
    module for the symbols.

    Attributes
    ----------
    second_phase_alone : v D(n) [points, numbers; s]
    added_by_first_phase : P(n) [points, numbers; s]
    second_phase_in_full_rounds : the time of v full rounds [points, numbers; s]
    """

    second_phase_alone: Array
    added_by_first_phase: Array
    second_phase_in_full_rounds: Array


def _equally_probable_works(phases: Sequence[PhaseNumbers]) -> Array:
    """Return equally probable works of a phase, one for each point where none differ [points,
    works; units].
    """
    work_count = LENGTHS if any(phase.variance for phase in phases) else 1
    return np.array([phase.groups(work_count) for phase in phases])


class MeanRounds:
    """The times of rounds by the numbers of customers and units in them, from the mean lengths of
    both phases. Arrays have a row for each point.

    Attributes
    ----------
    first_work : equally probable works of a first phase [points, works; units]
    second_lengths : equally probable lengths of a second phase, relative to their mean [points,
        lengths; 1]
    """

    def __init__(self, points: Sequence[PointNumbers]) -> None:
        self._duration = round_time_at(points)
        first_phases = [point.phases[0] for point in points]
        second_phases = [point.phases[1] for point in points]
        servers = [point.server for point in points]
        self.rate = _as_column(point.rate for point in points)
        self.delay = _as_column(point.delay for point in points)
        self.first_units = _as_column(phase.mean for phase in first_phases)
        self.first_work = _equally_probable_works(first_phases)
        self.first_variation = (
            _as_column(phase.variance for phase in first_phases) / self.first_units**2
        )
        # A unit of a first phase holds half of those of its customer, in the mean by units.
        self._held_in_first = self.first_units * (1 + self.first_variation) / 2
        lengths = _equally_probable_works(second_phases)
        self.second_lengths: Array = lengths / lengths.mean(axis=1, keepdims=True)
        self.piece = _as_column(min(phase.piece, phase.mean) for phase in second_phases)
        second_work = _as_column(phase.mean for phase in second_phases)
        self.second_phase_rounds = second_work / self.piece
        self.second_variation = (
            _as_column(phase.variance for phase in second_phases) / second_work**2
        )
        # A second phase that is met at a random time is longer than the mean, and half of it done.
        met_work = second_work * (1 + self.second_variation)
        self._held_in_second = self.first_units + met_work / 2
        self._budget = _as_column(server.budget for server in servers)
        place_counts = _as_column(server.places for server in servers)
        number_in_memory = self._number_in_memory(servers, second_work)
        self.memory_binds = number_in_memory < place_counts
        customer_limits = (place_counts, number_in_memory, self._budget / self.piece)
        self.most_customers: Array = np.maximum(1.0, np.minimum.reduce(customer_limits))
        # As many are in the second phase in the mean if all rounds are full.
        self._mean_in_second_phase = second_work * self._budget / (self.first_units + second_work)
        self.largest_mean_number: Array = np.maximum(
            1.0, np.minimum(self.most_customers, self._mean_in_second_phase)
        )
        self.has_few_places = self.most_customers < LEAST_FED * self._mean_in_second_phase

    def _number_in_memory(self, servers: Sequence[RoundServer], second_work: Array) -> Array:
        """Return the mean number of customers for which memory has room [points, 1; 1].

        Parameters
        ----------
        servers : of the points
        second_work : mean work of the second phase [points, 1; units]
        """
        met_work = second_work * (1 + self.second_variation)
        largest_memory = self.first_units + met_work
        kept_memory = np.where(
            _as_column(server.reserved for server in servers) > 0,
            largest_memory,
            self._held_in_second,
        )
        memory = _as_column(server.memory for server in servers)
        number_in_memory = memory / kept_memory
        # The next reservation does not fit into what is left: as many fit as renewals in a time.
        work_variance = (
            self.first_variation * self.first_units**2 + self.second_variation * second_work**2
        )
        number_by_renewals = (
            number_in_memory - (1 - np.minimum(work_variance / largest_memory**2, 1.0)) / 2
        )
        whole_number = np.where(work_variance > 0, number_by_renewals, np.floor(number_in_memory))
        is_reserved = _as_column(server.reserved for server in servers) > 0
        # Where memory grows with the work, the rest into which no first phase fits is unused, too.
        variance_of_done = met_work**2 / 12 * (1 + 2 * self.second_variation)
        variance_held = self.first_variation * self.first_units**2 + variance_of_done
        number_with_growing_memory = mean_number_that_fits(
            number_in_memory, variance_held / self._held_in_second**2
        )
        whole_number = np.where(is_reserved, whole_number, number_with_growing_memory)
        return np.where(np.isfinite(memory), whole_number, number_in_memory)

    def served_per_round(self, visits_ended: Array, number_present: Array) -> Array:
        """Return the mean number of customers that a round serves [points; 1].

        Little's law, where time is counted in rounds: each customer is in as many rounds as its
        phases take.

        Parameters
        ----------
        visits_ended : visits that end from the beginning of a round to that of the next [points; 1]
        number_present : customers in the second phase of rounds with first phases [points; 1]
        """
        rounds_of_first_phase = (self.first_units / self.room(number_present[:, None]))[:, 0]
        rounds_of_customer = self.second_phase_rounds[:, 0] + np.ceil(rounds_of_first_phase - 1e-9)
        return np.minimum(visits_ended * rounds_of_customer, self.most_customers[:, 0])

    def select_rows(self, rows: Indices) -> MeanRounds:
        """Return the mean rounds of those points that `rows` selects."""
        selected_rounds = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(selected_rounds, name, value[rows])
        selected_rounds._duration = self._duration.at_rows(rows)
        return selected_rounds

    def variation_of_added(self, number_present: Array | float) -> Array:
        """Return the squared coefficient of variation of the time by which a first phase prolongs
        rounds, over first phases of different work [points, 1; 1].
        """
        if not self.first_variation.any():
            return np.zeros_like(self.first_units)
        added_times = self._added_by_works(number_present)
        mean_time = np.maximum(added_times.mean(axis=1), 1e-300)
        return np.asarray(added_times.var(axis=1) / mean_time**2)

    def _added_by_works(self, number_present: Array | float) -> Array:
        """Return, for each of the works of `first_work`, the time by which a first phase of this
        work alone prolongs rounds [points, works, rounds; s].
        """
        works = self.first_work[:, :, None]
        room = self.room(number_present)
        rounds_needed = np.maximum(works / room[:, None], 1.0)
        present_by_work = np.broadcast_to(number_present, room.shape)[:, None]
        round_times = self.round_time(present_by_work, works / rounds_needed)
        return np.asarray(
            rounds_needed * (round_times - self.round_time(number_present, 0.0)[:, None])
        )

    def share_of_first_phases(self, number_present: Array | float) -> Array:
        """Return the part of the time that the first phases of a stream take, X P(n) [1]."""
        return np.minimum(
            self.rate * self.time_added_by_first_phase(number_present), 1 - LEAST_ROOM
        )

    def component_times(self, number_present: Array | float, units: Array | float) -> Array:
        """Return F(n, q), the time of a round with n customers in the second phase and q units of
        first phases, by component [components, points, rounds; s]. Rounds may have several axes.
        """
        axis_count = max(np.ndim(number_present), np.ndim(units), 2)
        first_units, piece, held_units, held_in_first = (
            column.reshape(-1, *[1] * (axis_count - 1))
            for column in (self.first_units, self.piece, self._held_in_second, self._held_in_first)
        )
        customers_in_second, units_in_first, _ = np.broadcast_arrays(
            number_present, units, first_units
        )
        second_units = customers_in_second * piece
        round_contents = RoundContents(
            [(units_in_first / first_units).ravel(), customers_in_second.ravel()],
            [units_in_first.ravel(), second_units.ravel()],
            (customers_in_second * held_units).ravel(),
            [(units_in_first * held_in_first).ravel(), (second_units * held_units).ravel()],
        )
        component_times = self._duration(round_contents)
        return np.broadcast_to(
            component_times, (len(component_times), customers_in_second.size)
        ).reshape(-1, *customers_in_second.shape)

    def round_time(self, number_present: Array | float, units: Array | float) -> Array:
        """Return F(n, q), the time of a round with n customers in the second phase and q units of
        first phases [points, rounds; s].
        """
        return np.asarray(self.component_times(number_present, units).sum(axis=0))

    def room(self, number_present: Array | float) -> Array:
        """Return the units of first phases for which a round has room if n customers are in the
        second phase.
        """
        return np.maximum(self._budget - number_present * self.piece, 1.0)

    def first_phase_time_alone(self, number_present: Array | float) -> Array:
        """Return the time of the rounds of a first phase that has no other first phase in them
        [s].
        """
        room = self.room(number_present)
        rounds_needed = np.maximum(self.first_units / room, 1.0)
        return np.asarray(
            rounds_needed * self.round_time(number_present, np.minimum(self.first_units, room))
        )

    def relative_wait(self, places: Array, load: Array) -> Array:
        """Return the mean wait for a place, relative to the wait if times at the server were
        exponential [1].

        Of constant times by Cosmetatos' approximation of M/D/c (1975); of times that differ in
        between by their squared coefficient of variation (Kimura 1986).

        Parameters
        ----------
        places, load : how many there are, and the part of them that is taken [points, 1; 1]
        """
        wait_growth = (np.sqrt(4 + 5 * places) - 2) * (places - 1) / (16 * places)
        wait_of_constant_times = np.minimum(0.5 * (1 + (1 - load) / load * wait_growth), 1.0)
        return np.asarray(
            wait_of_constant_times + (1 - wait_of_constant_times) * self.second_variation
        )

    def time_added_by_first_phase(self, number_present: Array | float) -> Array:
        """Return P(n), the time by which the first phase of a customer prolongs the rounds while n
        customers are in the second phase [s].

        Of a stream whose rounds have room for several, A Poisson with mean m = X T, the first makes
        a round longer by P1 and each further by P2, as where a round takes at least the time to
        read its data: m P = P1 (1 - exp(-m)) + P2 (m - 1 + exp(-m)). Both are means over first
        phases of different work and over pairs of them: in rounds that take at least the time to
        read data, short first phases add nothing and long ones what they take beyond it.
        """
        room, time_without_first = self.room(number_present), self.round_time(number_present, 0.0)
        added_by_first = self._added_by_works(number_present).mean(axis=1)
        if not self.rate.any() or not (self.first_units < room).any():
            return np.asarray(added_by_first)
        # Of two for which a round has no room, the next round does the rest.
        works = self.first_work
        work_count = works.shape[1]
        partner_indices = (3 * np.arange(work_count) + 2) % work_count
        work_of_two = (works + works[:, partner_indices])[:, :, None]
        room_by_work = room[:, None]
        present_by_work = np.broadcast_to(number_present, room.shape)[:, None]
        work_in_first_round = np.minimum(work_of_two, room_by_work)
        work_left = np.clip(work_of_two - room_by_work, 0.0, room_by_work)
        times_of_two = self.round_time(present_by_work, work_in_first_round) + self.round_time(
            present_by_work, work_left
        )
        added_by_two = times_of_two.mean(axis=1) - 2 * time_without_first
        added_by_further = added_by_two - added_by_first
        added_by_further = np.where(self.first_units < room, added_by_further, added_by_first)
        added_time = added_by_first
        for _ in range(ROUNDS_TOGETHER):
            mean_arrivals = np.maximum(
                self.rate * time_without_first / np.maximum(1 - self.rate * added_time, LEAST_ROOM),
                1e-9,
            )
            probability_of_none = -np.expm1(-mean_arrivals) / mean_arrivals
            added_time = added_by_first * probability_of_none + added_by_further * (
                1 - probability_of_none
            )
        return np.asarray(added_time)

    def visit_time(
        self,
        number_present: Array | float,
        rate: Array | float = 0.0,
        worked_off: Array | float = 0.0,
    ) -> Array:
        """Return S(n), the mean time that a visit takes of a server with n customers, which is the
        time of the visit over n [s].

        Parameters
        ----------
        number_present : customers of a closed population, or of a stream in the second phase [1]
        rate : of a stream, whose first phases make rounds longer; where they take all time, the
            second phases do not end [1/s]
        worked_off : L - L_v, by how many fewer first phases wait or are under way at the end of a
            second phase than at its beginning [1]
        """
        times = self.parts_of_visits(number_present, np.any(rate))
        if not np.any(rate):
            return np.asarray(
                times.second_phase_alone / number_present + times.added_by_first_phase
            )
        return self.visit_time_of_stream(times, number_present, rate, worked_off)

    def parts_of_visits(
        self, number_present: Array | float, with_longest: object = True
    ) -> PartsOfVisits:
        """Return the times of which a visit consists while a number of customers is present [s]:
        its rounds alone, the time added by first phases, and the time if all rounds are full.
        """
        longest_time = np.zeros(1)
        plain_time = self.second_phase_rounds * self.round_time(number_present, 0.0)
        added_time = self.time_added_by_first_phase(number_present)
        if with_longest:
            longest_time = self.second_phase_rounds * self.round_time(
                number_present,
                np.minimum(self.room(number_present), MOST_PIECES // 4 * self.first_units),
            )
        return PartsOfVisits(plain_time, added_time, longest_time)

    @staticmethod
    def visit_time_of_stream(
        times: PartsOfVisits,
        number_present: Array | float,
        rate: Array | float,
        worked_off: Array | float,
    ) -> Array:
        """Return S(n), the mean time that a visit of a stream takes of the server, from the times
        of which it consists; see `visit_time` [s].
        """
        share_left = np.maximum(1 - rate * times.added_by_first_phase, 1e-9)
        steady_time = np.minimum(
            times.second_phase_alone / share_left, times.second_phase_in_full_rounds
        )
        # First phases have about an exponential time, and so has what comes behind them.
        delay = limited_mean(
            worked_off * times.added_by_first_phase / share_left,
            times.second_phase_in_full_rounds - steady_time,
        )
        return np.asarray((steady_time + delay) / number_present)

    def second_phase_time(self, number_present: Array, worked_off: Array) -> Array:
        """Return W(n), the mean time of a second phase while n customers are in it [s]."""
        return self.visit_time(number_present, self.rate, worked_off) * number_present


def limited_mean(mean: Array, limit: Array) -> Array:
    """Return the mean of an exponential variable, of mean E, that is cut off at a limit M: E (1 -
    exp(-M / E)).

    >>> limited_mean(np.array([0.01, 1.0, 100.0]), np.array(1.0)).round(3).tolist()
    [0.01, 0.632, 0.995]
    """
    mean = np.maximum(mean, 1e-300)
    return np.asarray(mean * -np.expm1(-limit / mean))


def mean_number_that_fits(memory_in_customers: Array, variation: Array) -> Array:
    """Return the mean number of customers that fit into memory [points, 1; 1].

    What k customers hold is about normal; as many fit as have a sum below the memory, whole
    numbers. Where they hold equal amounts that is the whole number below the ratio, where these
    differ much it is that of renewals in a time.

    Parameters
    ----------
    memory_in_customers : memory over the mean amount of a customer [points, 1; 1]
    variation : squared coefficient of variation of the amount [points, 1; 1]
    """
    from scipy.special import ndtr

    mean_ratio = np.where(np.isfinite(memory_in_customers), memory_in_customers, 1.0)
    whole_numbers = np.floor(mean_ratio) + np.arange(-WHOLE_NUMBERS, WHOLE_NUMBERS) + 1.0
    number_deviation = np.sqrt(mean_ratio * variation)
    probabilities = ndtr((mean_ratio - whole_numbers + 1e-6) / np.maximum(number_deviation, 1e-9))
    mean_of_whole_numbers = whole_numbers[:, :1] - 1 + probabilities.sum(axis=1, keepdims=True)
    mean_number = np.where(number_deviation < 1, mean_of_whole_numbers, mean_ratio - 0.5)
    return np.asarray(mean_number + np.minimum(variation, 1.0) / 2)


def saturation_error(load: float) -> NoAnswerError:
    """Return the error for a stream that brings more work than the server can do."""
    reason = Saturated.with_advice(
        f"by its mean rounds the server is saturated: load {load:.3g}, at most 1 has an answer",
        "let fewer customers arrive, or make rounds shorter",
    )
    return NoAnswerError(reason)


def loads_of(points: Sequence[PointNumbers]) -> Array:
    """Return the value ``load`` of streams with two phases [points]: the rate of arrivals times the
    time that a visit takes of a server with as many customers in the second phase as places, memory
    and budget allow.
    """
    rounds = MeanRounds(points)
    visit_times = rounds.visit_time(np.minimum(rounds.largest_mean_number, MOST_PRESENT))
    return np.asarray(rounds.rate * visit_times).ravel()


def load_of(point: PointNumbers) -> float:
    """Return the load of a stream by mean rounds [1]: the rate of arrivals times the time that a
    visit takes of a server with as many customers as it can have. A closed population has load 0.
    """
    if not point.rate:
        return 0.0
    most_customers = min(point.server.places, point.server.memory / point.work, LARGE_ROUND)
    return point.rate * visit_time_of_point(point, max(most_customers, 1.0))


def visit_time_of_point(point: PointNumbers, number_present: float) -> float:
    """Return the mean time that a customer's visit takes of a server at which some number of
    customers is present [s]; 0 for more than two phases, for which this time is not known.
    """
    server = point.server
    if len(point.phases) == 2:
        return float(MeanRounds([point]).visit_time(number_present)[0, 0])
    if len(point.phases) > 2:
        return 0.0
    (phase,) = point.phases
    work_units = min(number_present * min(phase.mean, phase.piece), server.budget)
    customer_count = work_units / min(phase.mean, phase.piece)
    round_times = point.round_time(
        [customer_count], [work_units], 0.0, [work_units * phase.mean / 2]
    )
    round_time = float(round_times[0]) + server.batching_delay
    if server.interval:
        round_time = server.interval * math.ceil(round_time / server.interval)
    return round_time * phase.mean / work_units
